package ingest

import (
	"bytes"
	"encoding/base64"
	"fmt"

	flatbuffers "github.com/google/flatbuffers/go"
)

// The Arrow library makes slices as long as the metadata of a message
// announces, and follows nesting as deep as it goes. Where the metadata is
// corrupt or hostile, memory or stack run out, which no recover catches. So
// the vectors of a message are held against its bytes first.
const (
	maxArrowFields = 100_000
	maxArrowDepth  = 64
)

// Places in the tables of Arrow's format/*.fbs.
const (
	messageType, messageHeader, messageBody, messageMetadata = 6, 8, 10, 12
	schemaFields, schemaMetadata                             = 6, 8
	fieldChildren, fieldMetadata                             = 14, 16
	batchBuffers, batchVariadic                              = 8, 12
	dictionaryData                                           = 6
	footerBatches                                            = 10

	typeSchema, typeDictionary, typeBatch = 1, 2, 3
)

type arrowCheck struct {
	flatbuffers.Table
	fields *int // seen so far
}

// checkMessage refuses metadata whose vectors do not fit, and gives the length
// of the body that follows. It panics where offsets lead outside.
func checkMessage(meta []byte) (body int64, err error) {
	m := rootOf(meta)
	if _, _, err := m.vector(messageMetadata, 4); err != nil {
		return 0, err
	}
	header, ok := m.child(messageHeader)
	if !ok {
		return 0, fmt.Errorf("message without header")
	}
	switch kind := m.GetByteSlot(messageType, 0); kind {
	case typeSchema:
		err = header.schema()
	case typeBatch:
		err = header.batch()
	case typeDictionary:
		if data, ok := header.child(dictionaryData); ok {
			err = data.batch()
		}
	}
	return m.GetInt64Slot(messageBody, 0), err
}

// countBatches gives the number of record batches that the footer of a file
// lists.
func countBatches(footer []byte) (int, error) {
	const blockBytes = 24
	_, n, err := rootOf(footer).vector(footerBatches, blockBytes)
	return n, err
}

// checkStoredSchema checks the Arrow schema that a Parquet file may carry
// beside its own.
func checkStoredSchema(text string) error {
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		if decoded, err = base64.RawStdEncoding.DecodeString(text); err != nil {
			return err
		}
	}
	s := arrowStream{from: bytes.NewReader(decoded), left: int64(len(decoded))}
	size, err := s.size()
	if err != nil {
		return err
	}
	_, err = checkMessage(decoded[int64(len(decoded))-s.left:][:size])
	return err
}

func rootOf(b []byte) arrowCheck {
	return arrowCheck{Table: flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}, fields: new(int)}
}

// child gives the table in a slot.
func (t arrowCheck) child(slot flatbuffers.VOffsetT) (arrowCheck, bool) {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return arrowCheck{}, false
	}
	return t.table(t.Pos + o), true
}

func (t arrowCheck) table(at flatbuffers.UOffsetT) arrowCheck {
	return arrowCheck{Table: flatbuffers.Table{Bytes: t.Bytes, Pos: t.Indirect(at)}, fields: t.fields}
}

// vector gives the place and the length of the vector in a slot, whose entries
// take size bytes.
func (t arrowCheck) vector(slot flatbuffers.VOffsetT, size int) (at flatbuffers.UOffsetT, n int, err error) {
	o := flatbuffers.UOffsetT(t.Offset(slot))
	if o == 0 {
		return 0, 0, nil
	}
	at, n = t.Vector(o), t.VectorLen(o)
	if room := len(t.Bytes) - int(at); n > room/size {
		return 0, 0, fmt.Errorf("metadata announces %d entries in %d bytes", n, room)
	}
	return at, n, nil
}

func (t arrowCheck) schema() error {
	if _, _, err := t.vector(schemaMetadata, 4); err != nil {
		return err
	}
	return t.fieldsIn(schemaFields, 0)
}

func (t arrowCheck) fieldsIn(slot flatbuffers.VOffsetT, depth int) error {
	at, n, err := t.vector(slot, 4)
	if err != nil {
		return err
	}
	if *t.fields += n; *t.fields > maxArrowFields || depth > maxArrowDepth {
		return fmt.Errorf("schema of more than %d fields, or more than %d deep", maxArrowFields, maxArrowDepth)
	}
	for i := range n {
		field := t.table(at + flatbuffers.UOffsetT(4*i))
		if _, _, err := field.vector(fieldMetadata, 4); err != nil {
			return err
		}
		if err := field.fieldsIn(fieldChildren, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// batch checks how many buffers the columns of a batch claim.
func (t arrowCheck) batch() error {
	_, buffers, err := t.vector(batchBuffers, 16)
	if err != nil {
		return err
	}
	at, n, err := t.vector(batchVariadic, 8)
	for i := range n {
		if count := t.GetInt64(at + flatbuffers.UOffsetT(8*i)); count < 0 || count > int64(buffers) {
			return fmt.Errorf("a column claims %d of %d buffers", count, buffers)
		}
	}
	return err
}
