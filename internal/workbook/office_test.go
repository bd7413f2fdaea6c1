package workbook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An office program must open the file and show the text as text.
func TestLibreOfficeOpens(t *testing.T) {
	var office string
	for _, name := range []string{"soffice", "libreoffice"} {
		if path, err := exec.LookPath(name); err == nil {
			office = path
		}
	}
	if office == "" {
		t.Skip("no soffice or libreoffice on the PATH")
	}
	dir := t.TempDir()
	convert := func(b []byte, to string) []byte {
		in := filepath.Join(dir, "book.xlsx")
		if err := os.WriteFile(in, b, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(office, "--headless", "-env:UserInstallation=file://"+filepath.Join(dir, "profile"), "--convert-to", to, "--outdir", dir, in)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := os.ReadFile(filepath.Join(dir, "book."+to))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	text, _ := write(t, oneTable([]Column{{Header: "Text"}}, [][]Cell{{Text("=1+1")}, {Text(`=HYPERLINK("http://x","y")`)}, {Formula{"2*3", 6}}}))
	csv := string(convert(text, "csv"))
	for _, want := range []string{"=1+1", `"=HYPERLINK(""http://x"",""y"")"`, "\n6\n"} {
		if !strings.Contains(csv, want) {
			t.Errorf("CSV lacks %q:\n%s", want, csv)
		}
	}
	whole, _ := write(t, sample())
	if pdf := convert(whole, "pdf"); !strings.HasPrefix(string(pdf), "%PDF") {
		t.Error("not a PDF")
	}
}
