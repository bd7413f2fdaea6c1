// Package strictyaml reads YAML files that people write by hand, and files that
// lay among evidence and may be hostile. It is the only door to the YAML
// library.
//
// It takes the plain part of YAML: one document of mappings, lists and scalars.
// Anchors, aliases and tags are refused, so a file says what it says in one
// place and cannot grow when it is read. All faults of a file are reported at
// once, each with its position.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	maxBytes = 4 << 20
	maxDepth = 100
)

// Decode reads the YAML document in data into the struct that into points to.
// The error, if any, is of type Problems and names file. After an error the
// struct may be filled in part.
//
// Only fields with a yaml tag are filled. The tag holds the key, and
// ",required" where the key must be present with a value: `yaml:"id,required"`.
// A key that is absent or null leaves its field as it was. Fields may be
// structs, slices, maps with string keys, pointers (nil means not stated),
// strings, booleans, signed integers, floats, and types that implement
// encoding.TextUnmarshaler. A string takes the text of any scalar as it is
// written, so that 0.10 stays 0.10; the other types take only their own form.
//
// A struct that implements Checker may raise further problems.
//
// An empty document reads as an empty mapping.
func Decode(file string, data []byte, into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("strictyaml: decode into %T: want a pointer to a struct", into))
	}
	c := &collector{file: file}
	if root := c.parse(data); root != nil {
		c.vet(root, 1)
		c.decode(&place{key: root, value: root}, v.Elem())
	}
	return c.err()
}

// parse gives the value of the only document in data, or nil if there was a
// problem.
func (c *collector) parse(data []byte) *yaml.Node {
	if len(data) > maxBytes {
		c.addf(1, 1, "file has %d bytes, more than the limit of %d", len(data), maxBytes)
		return nil
	}
	if !c.checkCharacters(data) {
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	root := &yaml.Node{Kind: yaml.MappingNode, Line: 1, Column: 1}

	document, err := nextDocument(decoder)
	if errors.Is(err, io.EOF) {
		return root
	}
	if err != nil {
		c.addSyntax(err)
		return nil
	}
	if value := document.Content[0]; !isNull(value) {
		root = value
	}

	switch second, err := nextDocument(decoder); {
	case err == nil:
		c.addf(second.Line, second.Column, "a second document begins here, want one only")
		return nil
	case !errors.Is(err, io.EOF):
		c.addSyntax(err)
		return nil
	}
	return root
}

// nextDocument reads one document. The library panics where it meets a state
// that its authors ruled out; a file must not be able to end the program.
func nextDocument(decoder *yaml.Decoder) (document *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	document = new(yaml.Node)
	err = decoder.Decode(document)
	return document, err
}

// checkCharacters finds what the library would refuse without a position, and
// what it would silently take for UTF-16.
func (c *collector) checkCharacters(data []byte) bool {
	line, column := 1, 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			c.addf(line, column, "byte 0x%02X is not valid UTF-8", data[0])
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7F && r < 0xA0 && r != 0x85, r == 0xFFFE, r == 0xFFFF:
			c.addf(line, column, "control character U+%04X is not allowed", r)
			return false
		case r == '\n':
			line, column = line+1, 1
		default:
			column++
		}
		data = data[size:]
	}
	return true
}

// The library's messages give a line, except for the first one. Its parser,
// unlike its scanner, counts them from 0; its messages are told apart by their
// words.
var (
	syntaxMessage = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)
	parserMessage = regexp.MustCompile(`^did not find expected (key|node content|',' or|'-' indicator|<)`)
)

func (c *collector) addSyntax(err error) {
	line, message := 1, err.Error()
	if m := syntaxMessage.FindStringSubmatch(message); m != nil {
		message = m[2]
		if n, err := strconv.Atoi(m[1]); err == nil {
			line = n
			if parserMessage.MatchString(message) {
				line++
			}
		}
	}
	c.addf(line, 1, "%s", message)
}
