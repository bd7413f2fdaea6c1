package workbook

import (
	"archive/zip"
	"bytes"
	"io"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

var made = time.Date(2026, time.December, 1, 9, 30, 0, 0, time.UTC)

// sample has every kind of block, cell and mark.
func sample() *Book {
	return &Book{
		Title:   "Assessment pack",
		Created: made,
		Lists: []List{
			{"YesNo", []string{"Yes", "No", "Not yet known"}},
			{"Outcome", []string{"Report", "Do not report", "Not yet known"}},
		},
		Sheets: []Sheet{
			{
				Name:  "Read me",
				Title: "Assessment pack",
				Notes: []string{"Factual record, not legal advice.", "Grey: filled by the provider. Yellow with a thick left edge: for you to fill in."},
				Blocks: []Block{
					Form{Rows: []FormRow{
						{Label: "Incident", Value: Text("INC-7"), Field: Field{By: Provider}},
						{Label: "Controller", Help: "The legal name", Field: Field{By: Tenant, Wrap: true}},
						{Label: "Confirmed", Value: Bool(true), Field: Field{By: Provider}},
					}},
				},
			},
			{
				Name:      "Art 33 & 34 decisions",
				Title:     "Decisions",
				Protected: true,
				Blocks: []Block{
					Form{Title: "Score", Rows: []FormRow{
						{Label: "Context", Value: Int(3), Field: Field{By: Provider}},
						{Label: "Ease", Value: Number(0.75), Field: Field{By: Provider, Format: "0.00"}},
						{Label: "Severity", Value: Formula{"MAX(B4*B5, 0)", 2.25}, Field: Field{By: Provider, Format: "0.00"}},
						{Label: "Report it?", Help: "Choose", Field: Field{By: Tenant, List: "Outcome", Decision: true}},
						{Label: "Told?", Field: Field{By: Tenant, List: "YesNo"}},
					}},
				},
			},
			{
				Name:  "Exposure",
				Title: "Exposure by day",
				Notes: []string{"One row a day."},
				Blocks: []Block{
					Table{
						Title: "By day",
						Columns: []Column{
							{Header: "Day", Width: 14, Field: Field{By: Provider}},
							{Header: "Events", Width: 10, Field: Field{By: Provider}},
							{Header: "Known?", Width: 12, Field: Field{By: Tenant, List: "YesNo"}},
						},
						Rows: [][]Cell{
							{Text("2026-11-01"), Int(4)},
							{Text("2026-11-02"), Int(9), Text("Yes")},
							{Text("2026-11-03"), Int(2), nil},
						},
					},
					Chart{Title: "Events a day <&>", Table: "By day", Labels: "Day", Values: "Events"},
				},
			},
		},
	}
}

func write(t testing.TB, b *Book) ([]byte, Report) {
	t.Helper()
	b.TempDir = t.TempDir()
	var out bytes.Buffer
	report, err := b.Write(&out)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), report
}

func reopen(t testing.TB, b []byte) *excelize.File {
	t.Helper()
	f, err := excelize.OpenReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// oneTable is a book of one sheet with one table.
func oneTable(columns []Column, rows [][]Cell) *Book {
	return &Book{Created: made, Sheets: []Sheet{{Name: "Data", Blocks: []Block{Table{Columns: columns, Rows: rows}}}}}
}

func inspect(b []byte) error { return Inspect(bytes.NewReader(b), int64(len(b))) }

func unzip(t testing.TB, b []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if parts[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

func pack(t testing.TB, parts map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(parts[name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func entries(t testing.TB, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		names = append(names, e.Name())
	}
	return names
}
