package ingest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	flatbuffers "github.com/google/flatbuffers/go"

	"kvforensics/internal/evidence"
)

// nestedColumns have what the Arrow library reads in goroutines of its own.
func nestedColumns(n int) []testColumn {
	var usage, tags []string
	for i := range n {
		usage = append(usage, fmt.Sprintf(`{"total":%d,"by":[{"k":"a"},{"k":null}]}`, i))
		tags = append(tags, fmt.Sprintf(`["x%d"]`, i))
	}
	by := arrow.ListOf(arrow.StructOf(arrow.Field{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true}))
	return append(required(n),
		testColumn{"u", arrow.StructOf(arrow.Field{Name: "total", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "by", Type: by, Nullable: true}), usage},
		testColumn{"tags", arrow.ListOf(arrow.BinaryTypes.String), tags})
}

func TestParquetRowGroupsBesideABrokenOneAreKept(t *testing.T) {
	r := record(t, memory.DefaultAllocator, required(30))
	defer r.Release()
	data := parquetBytes(t, r, 10)
	p, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	chunk, err := p.MetaData().RowGroup(1).ColumnChunk(0)
	if err != nil {
		t.Fatal(err)
	}
	from := chunk.DataPageOffset()
	copy(data[from-10:], bytes.Repeat([]byte{0xff}, int(chunk.TotalCompressedSize())))
	got := ingestBytes(t, data, Options{})
	got.wantState(t, evidence.SourcePartly, "row group 2 of 3 (10 rows after row 10)")
	got.wantState(t, evidence.SourcePartly, "; 20 rows were read")
	if len(got.requests) != 20 || got.requests[9].Line != 10 || got.requests[10].Line != 21 || got.requests[10].RequestID != "r21" {
		t.Errorf("%d rows", len(got.requests))
	}
}

func TestTruncatedTables(t *testing.T) {
	r := record(t, memory.DefaultAllocator, required(30))
	defer r.Release()
	parquet, arrowFile, stream := parquetBytes(t, r, 10), arrowFileBytes(t, r, 10), arrowStreamBytes(t, r, 10)
	for _, c := range []struct {
		name    string
		data    []byte
		state   evidence.SourceState
		problem string
		rows    int
	}{
		{"parquet without footer", parquet[:len(parquet)-100], evidence.SourceUnread, "footer: parquet: file is smaller", 0},
		{"parquet magic alone", parquet[:4], evidence.SourceUnread, "footer: parquet: file too small", 0},
		{"file without footer", arrowFile[:len(arrowFile)-100], evidence.SourcePartly, "footer: ", 30},
		{"file cut in a batch", arrowFile[:len(arrowFile)/2], evidence.SourcePartly, "footer: not found at the end of the file; record batch 2, after row 10: message of 232 bytes, of which 29 are there", 10},
		{"file cut before its footer", arrowFile[:len(arrowFile)-10], evidence.SourcePartly, "footer: ", 30},
		{"file magic alone", arrowFile[:8], evidence.SourceUnread, "footer: ", 0},
		{"stream without end mark", stream[:len(stream)-8], evidence.SourcePartly, "no end mark: rows after row 30 may be missing; 30 rows were read", 30},
		{"stream cut in a batch", stream[:len(stream)-20], evidence.SourcePartly, "record batch 3, after row 20", 20},
		{"stream cut in its schema", stream[:20], evidence.SourceUnread, "metadata of ", 0},
		{"two streams", append(bytes.Clone(stream), stream...), evidence.SourcePartly, fmt.Sprintf("%d bytes after the end mark were not read", len(stream)), 30},
		{"two files", append(bytes.Clone(arrowFile), stream...), evidence.SourcePartly, "footer: ", 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ingestBytes(t, c.data, Options{})
			got.wantState(t, c.state, c.problem)
			if len(got.requests) != c.rows {
				t.Errorf("%d rows, want %d", len(got.requests), c.rows)
			}
		})
	}
}

func TestEmptyTables(t *testing.T) {
	r := record(t, memory.DefaultAllocator, required(0))
	defer r.Release()
	for name, data := range map[string][]byte{"parquet": parquetBytes(t, r, 3), "file": arrowFileBytes(t, r, 3), "stream": arrowStreamBytes(t, r, 3)} {
		got := ingestBytes(t, data, Options{})
		got.wantState(t, evidence.SourceRead, "")
		if got.source.Tally.RecordBytes != int64(len(data)) {
			t.Errorf("%s: %+v", name, got.source.Tally)
		}
	}
}

// validTables are small files, one of each sort.
func validTables(t testing.TB) map[string][]byte {
	r := record(t, memory.DefaultAllocator, append(fullColumns(), nestedColumns(4)[3:]...))
	defer r.Release()
	return map[string][]byte{
		"parquet": parquetBytes(t, r, 3),
		"file":    arrowFileBytes(t, r, 3),
		"zstd":    arrowFileBytes(t, r, 3, ipc.WithZstd()),
		"stream":  arrowStreamBytes(t, r, 3, ipc.WithLZ4()),
	}
}

// Whatever bytes are hit, the program lives and the account adds up.
func TestDamagedTables(t *testing.T) {
	for name, whole := range validTables(t) {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			for range 100 {
				data := bytes.Clone(whole)
				for range 1 + random.IntN(3) {
					data[8+random.IntN(len(data)-8)] = byte(random.IntN(256))
				}
				got := ingestBytes(t, data, Options{KeepContent: true})
				if got.source.State == evidence.SourceRead && got.source.Tally.Records+got.source.Tally.Rejected != 4 {
					t.Errorf("rows are lost without a word: %+v", got.source)
				}
			}
		})
	}
}

// No length that a message may announce makes the library take more memory
// than the limit, which would end the program.
func TestArrowLengthsAreChecked(t *testing.T) {
	whole := validTables(t)["stream"]
	schema := 8 + int(binary.LittleEndian.Uint32(whole[4:]))
	for at := 0; at < schema+400; at += 4 {
		for _, n := range []uint32{0x7fffffff, 0x01000000, 0xfffffff0} {
			data := bytes.Clone(whole)
			binary.LittleEndian.PutUint32(data[at:], n)
			readAny(t, data, readArrowStream)
			if at >= 8 && at < schema {
				stored := base64.RawStdEncoding.EncodeToString(data[:schema])
				_ = guarded(func() error { return checkStoredSchema(stored) })
			}
		}
	}
	if err := checkStoredSchema(base64.StdEncoding.EncodeToString(whole[:schema])); err != nil {
		t.Error(err)
	}
}

// A schema whose fields share one child doubles with every level.
func TestArrowNestingIsBounded(t *testing.T) {
	b := flatbuffers.NewBuilder(0)
	field := emptyField(b, 0)
	for range 40 {
		b.StartVector(4, 2, 4)
		b.PrependUOffsetT(field)
		b.PrependUOffsetT(field)
		field = emptyField(b, b.EndVector(2))
	}
	b.StartVector(4, 1, 4)
	b.PrependUOffsetT(field)
	fields := b.EndVector(1)
	b.StartObject(4)
	b.PrependUOffsetTSlot(1, fields, 0)
	header := b.EndObject()
	b.StartObject(5)
	b.PrependByteSlot(1, typeSchema, 0)
	b.PrependUOffsetTSlot(2, header, 0)
	b.Finish(b.EndObject())
	if _, err := checkMessage(b.FinishedBytes()); err == nil || !strings.Contains(err.Error(), "more than 100000 fields") {
		t.Error(err)
	}
}

func emptyField(b *flatbuffers.Builder, children flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartObject(7)
	b.PrependUOffsetTSlot(5, children, 0)
	return b.EndObject()
}

func readAny(t *testing.T, data []byte, readers ...tableReader) {
	c := opened(t, data)
	for _, read := range readers {
		if len(data) == 0 {
			return
		}
		_ = read(context.Background(), c, Options{KeepContent: true}, func(*batch) error { return nil })
	}
}

func FuzzParquet(f *testing.F) {
	f.Add(validTables(f)["parquet"])
	r := record(f, memory.DefaultAllocator, required(2))
	f.Add(parquetBytes(f, r, 1))
	f.Fuzz(func(t *testing.T, data []byte) { readAny(t, data, readParquet) })
}

func FuzzArrow(f *testing.F) {
	tables := validTables(f)
	for _, name := range []string{"file", "zstd", "stream"} {
		f.Add(tables[name])
	}
	r := record(f, memory.DefaultAllocator, required(2))
	f.Add(arrowFileBytes(f, r, 1))
	f.Add(arrowStreamBytes(f, r, 1))
	f.Fuzz(func(t *testing.T, data []byte) { readAny(t, data, readArrowFile, readArrowStream) })
}
