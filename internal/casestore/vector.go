package casestore

import (
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"

	"kvforensics/internal/evidence"
)

// column writes one column of a table from rows of type T.
type column[T any] struct {
	name string
	put  func(v *vector, i int, row *T)
}

// vector is a column of a DuckDB data chunk that is being filled.
type vector struct {
	handle   mapping.Vector
	data     unsafe.Pointer
	validity unsafe.Pointer
}

// inlineBytes is how long a string may be to lie in duckdb_string_t itself
// (duckdb.h); longer ones are copied to the vector's heap by DuckDB.
const inlineBytes = 12

type inlineString struct {
	length uint32
	text   [inlineBytes]byte
}

func slot[E any](v *vector, i int) *E {
	return (*E)(unsafe.Add(v.data, uintptr(i)*unsafe.Sizeof(*new(E))))
}

func (v *vector) null(i int) {
	word := (*uint64)(unsafe.Add(v.validity, uintptr(i/64)*8))
	*word &^= 1 << (i % 64)
}

// text stores s, or NULL for the empty string: evidence that states "" states
// nothing.
func (v *vector) text(i int, s string) {
	if s == "" {
		v.null(i)
		return
	}
	v.textOrEmpty(i, s)
}

func (v *vector) textOrEmpty(i int, s string) {
	if len(s) <= inlineBytes {
		in := slot[inlineString](v, i)
		in.length = uint32(len(s))
		clear(in.text[copy(in.text[:], s):])
		return
	}
	mapping.VectorAssignStringElement(v.handle, mapping.IdxT(i), s)
}

func (v *vector) int64(i int, n int64) { *slot[int64](v, i) = n }
func (v *vector) int32(i int, n int)   { *slot[int32](v, i) = int32(n) }
func (v *vector) bool(i int, b bool)   { *slot[bool](v, i) = b }

func (v *vector) optBool(i int, o evidence.Opt[bool]) {
	if !o.Known {
		v.null(i)
		return
	}
	v.bool(i, o.V)
}

func optional[E any](v *vector, i int, o evidence.Opt[E]) {
	if !o.Known {
		v.null(i)
		return
	}
	*slot[E](v, i) = o.V
}

// list stores texts in a VARCHAR[] column. Growing a list vector fails only
// where memory ran out, which DuckDB then reports when the chunk is appended.
func (v *vector) list(i int, texts []string) {
	child := mapping.ListVectorGetChild(v.handle)
	from := mapping.ListVectorGetSize(v.handle)
	size := from + mapping.IdxT(len(texts))
	mapping.ListVectorReserve(v.handle, size)
	mapping.ListVectorSetSize(v.handle, size)
	for k, s := range texts {
		mapping.VectorAssignStringElement(child, from+mapping.IdxT(k), s)
	}
	entry := slot[[2]uint64](v, i)
	entry[0], entry[1] = uint64(from), uint64(len(texts))
}
