package ingest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// scanAgrees holds the scanner against encoding/json on one text.
func scanAgrees(t *testing.T, text []byte) {
	t.Helper()
	if !utf8.Valid(text) {
		return // refused before the scanner sees it; encoding/json would mend it
	}
	s := jsonScanner{text: text}
	raw, err := s.skip(0)
	if err == nil && (s.peek() != 0 || s.pos < len(text)) {
		err = s.errorf("text after the value")
	}
	if valid := json.Valid(text); valid != (err == nil) {
		if !valid || !deep(text) {
			t.Fatalf("text %q: scanner says %v, encoding/json says valid=%t", text, err, valid)
		}
		return
	}
	if err != nil {
		return
	}
	if want := bytes.TrimLeft(text, " \t\r\n"); !bytes.HasPrefix(want, raw) {
		t.Fatalf("text %q: value %q", text, raw)
	}
	if raw[0] == '"' {
		var want string
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if got := string(unescape(nil, raw[1:len(raw)-1])); got != want {
			t.Fatalf("string %q: got %q, want %q", raw, got, want)
		}
	}
}

// deep texts are refused by our own bound before encoding/json's.
func deep(text []byte) bool {
	return bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}) > maxDepth
}

var jsonTexts = []string{
	`{}`, `[]`, ` { "a" : [ 1 , -0.5e+3 , true , null , "x" ] } `, `"\u00e9\n\\\"\/\b\f\r\t"`, `"\ud83d\ude00"`, `"\ud83d"`, `"\udc00\ud83d"`,
	`"\ud83d\u0041"`, `01`, `1.`, `.5`, `-`, `1e`, `+1`, `0x10`, `nul`, `nulls`, `tru`, `"a`, `"\x"`, `"\u12g4"`, `"\u+123"`, "\"\x01\"", "\"\x7f\"",
	`{"a":1,}`, `{"a"}`, `{a:1}`, `[1,]`, `[1 2]`, `{"a":1 "b":2}`, `1 2`, ``, ` `, `[[[[`, `{"a":{"b":{"c":[]}}}`, `"é😀"`, `[1e400]`, `-0`, `-01`,
	strings.Repeat("[", 900) + strings.Repeat("]", 900), strings.Repeat("[", 2000) + strings.Repeat("]", 2000),
	`"` + strings.Repeat("abcdefgh", 10) + `\n` + strings.Repeat("x", 7) + `"`,
}

func TestScannerAgreesWithEncodingJSON(t *testing.T) {
	for _, text := range jsonTexts {
		scanAgrees(t, []byte(text))
		for cut := range text {
			if len(text) < 200 {
				scanAgrees(t, []byte(text[:cut]))
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add([]byte(text))
	}
	f.Fuzz(scanAgrees)
}
