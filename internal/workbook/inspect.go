package workbook

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Inspect checks the bytes of a finished workbook: that it has no parts and no
// references but those that Write makes, hides nothing, runs nothing and names
// nobody as its author. It trusts nothing that the file says of itself, and
// reports every part that fails.
func Inspect(r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("inspect workbook: %w", err)
	}
	var faults []error
	if z.Comment != "" {
		faults = append(faults, errors.New("the zip file has a comment"))
	}
	seen := map[string]bool{}
	for _, f := range z.File {
		err := inspectPart(f)
		if seen[f.Name] {
			err = errors.New("there are two")
		}
		seen[f.Name] = true
		if err != nil {
			faults = append(faults, fmt.Errorf("inspect %q: %w", f.Name, err))
		}
	}
	for _, name := range []string{"[Content_Types].xml", "docProps/core.xml", "xl/workbook.xml"} {
		if !seen[name] {
			faults = append(faults, fmt.Errorf("no part %q", name))
		}
	}
	return errors.Join(faults...)
}

// knownPart matches the parts that Write makes. So there can be no macros, no
// links to other files, no connections, comments, pictures or caches.
var knownPart = regexp.MustCompile(`^(\[Content_Types\]\.xml|_rels/\.rels|docProps/(app|core)\.xml|` +
	`xl/(workbook|styles|sharedStrings|theme/theme1)\.xml|xl/_rels/workbook\.xml\.rels|` +
	`xl/(worksheets/sheet|drawings/drawing|charts/chart)[0-9]+\.xml|xl/(worksheets/_rels/sheet|drawings/_rels/drawing)[0-9]+\.xml\.rels)$`)

func inspectPart(f *zip.File) error {
	if !knownPart.MatchString(f.Name) {
		return errors.New("this part is not allowed")
	}
	r, err := unpack(f)
	if err != nil {
		return err
	}
	defer r.Close()
	i := inspector{properties: strings.HasPrefix(f.Name, "docProps/")}
	tokens := xml.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	for {
		token, err := tokens.Token()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = i.token(token)
		}
		if err != nil {
			line, _ := tokens.InputPos()
			return fmt.Errorf("line %d, byte %d: %w", line, tokens.InputOffset(), err)
		}
	}
}

// inspector looks at the XML of a part.
type inspector struct {
	properties bool   // the part is one of the document's properties
	element    string // the innermost that is open, if text in it matters
	text       []byte // of that element
}

func (i *inspector) token(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		i.element, i.text = t.Name.Local, i.text[:0]
		return inspectElement(t)
	case xml.CharData:
		if i.properties || holdsFormula[i.element] {
			i.text = append(i.text, t...)
		}
	case xml.EndElement:
		err := i.content(t.Name.Local)
		i.element, i.text = "", i.text[:0]
		return err
	case xml.ProcInst:
		if t.Target != "xml" {
			return fmt.Errorf("processing instruction %q", t.Target)
		}
	default: // comments hide text, document types define abbreviations
		return fmt.Errorf("%T is not allowed", t)
	}
	return nil
}

// holdsFormula names the elements whose text is run or refers to cells.
var holdsFormula = map[string]bool{
	"f": true, "formula": true, "formula1": true, "formula2": true, "definedName": true,
}

var rangeNames = regexp.MustCompile(`^list_[A-Za-z0-9_]+$`)

// content judges the text of an element at its end.
func (i *inspector) content(element string) error {
	text := strings.TrimSpace(string(i.text))
	if i.properties {
		return inspectProperty(element, text)
	}
	if !holdsFormula[element] || element != "f" && rangeNames.MatchString(text) {
		return nil
	}
	return checkFormula(text)
}

func inspectProperty(element, text string) error {
	switch element {
	case "title", "created", "modified":
		return nil
	case "creator", "Application":
		if text == producer {
			return nil
		}
	default:
		if text == "" || text == "0" || text == "false" {
			return nil
		}
	}
	return fmt.Errorf("property %s is %q", element, text)
}

// refused elements reach out of the workbook, run something, or carry text
// that is not seen.
var refused = []string{
	"absPath", "altChunk", "comment", "comments", "connection", "control", "controls", "customProperties",
	"customSheetView", "ddeLink", "externalBook", "externalReference", "externalReferences", "fileSharing",
	"hlinkClick", "hlinkHover", "hyperlink", "hyperlinks", "legacyDrawing", "legacyDrawingHF", "oleLink",
	"oleObject", "oleObjects", "picture", "queryTable", "scenarios", "webPublishItem", "webPublishItems",
}

func inspectElement(e xml.StartElement) error {
	name := e.Name.Local
	if _, found := slices.BinarySearch(refused, name); found {
		return fmt.Errorf("element %s is not allowed", name)
	}
	attr := func(local string) string {
		for _, a := range e.Attr {
			if a.Name.Local == local {
				return a.Value
			}
		}
		return ""
	}
	if on(attr("hidden")) && attr("name") != "_xlnm._FilterDatabase" { // which marks a filter, and is always hidden
		return fmt.Errorf("%s is hidden", name)
	}
	switch name {
	case "sheet":
		if state := attr("state"); state != "" && state != "visible" {
			return fmt.Errorf("sheet %q is %s", attr("name"), state)
		}
	case "row":
		return notZero("height of a row", attr("ht"))
	case "col":
		return notZero("width of a column", attr("width"))
	case "sheetFormatPr":
		if on(attr("zeroHeight")) {
			return errors.New("rows are hidden")
		}
	case "numFmt":
		if format := attr("formatCode"); strings.Contains(format, ";;;") {
			return fmt.Errorf("number format %q hides cells", format)
		}
	case "f":
		if kind := attr("t"); kind != "" && kind != "normal" {
			return fmt.Errorf("%s formula", kind)
		}
	case "Relationship":
		return inspectRelationship(attr("Type"), attr("Target"), attr("TargetMode"))
	case "Default":
		if extension := attr("Extension"); extension != "rels" && extension != "xml" {
			return fmt.Errorf("parts of type %q", extension)
		}
	case "Override":
		if kind := attr("ContentType"); strings.Contains(strings.ToLower(kind), "macro") {
			return fmt.Errorf("content type %q", kind)
		}
	}
	return nil
}

func on(attribute string) bool {
	return attribute != "" && attribute != "0" && attribute != "false"
}

func notZero(what, size string) error {
	if x, err := strconv.ParseFloat(size, 64); size != "" && (err != nil || x <= 0) {
		return fmt.Errorf("%s is %q", what, size)
	}
	return nil
}

// relationships are those between the parts that Write makes.
var relationships = []string{
	"chart", "core-properties", "drawing", "extended-properties", "officeDocument", "sharedStrings", "styles", "theme", "worksheet",
}

func inspectRelationship(kind, target, mode string) error {
	short := kind[strings.LastIndexByte(kind, '/')+1:]
	if _, known := slices.BinarySearch(relationships, short); !known {
		return fmt.Errorf("relationship of type %q", kind)
	}
	if mode != "" && mode != "Internal" || strings.ContainsAny(target, `:\?#`) {
		return fmt.Errorf("relationship to %q is external", target)
	}
	return nil
}
