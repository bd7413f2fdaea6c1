package evidence

// Source is one distinct content that was read, or a file that could not be.
type Source struct {
	ID           int
	Digest       Opt[Digest] // unknown when the file could not be opened
	Path         string      // as found; further names of the same content are paths of the same source
	Bytes        int64       // as it lies on disk
	ContentBytes int64       // after inflation
	Compression  string      // none, gzip, zstd
	Encoding     string      // utf-8, utf-16le, utf-16be, binary
	Format       string      // one of the Format constants
	FormatReason string
	State        SourceState
	Problem      string // why it is not wholly read
	Tally        Tally
	Notes        []string
}

// SourceState says how much of a source was read.
type SourceState string

// The states of a source.
const (
	SourceRead   SourceState = "read"
	SourcePartly SourceState = "partly read"
	SourceUnread SourceState = "unread"
)

// Formats of evidence.
const (
	FormatJSONL       = "canonical-jsonl"
	FormatCSV         = "canonical-csv"
	FormatParquet     = "canonical-parquet"
	FormatArrowFile   = "canonical-arrow-file"
	FormatArrowStream = "canonical-arrow-stream"
	FormatSGLang      = "sglang-log"
	FormatIncident    = "incident-yaml"
	FormatEmpty       = "empty"
	FormatUnknown     = "unknown"
)

// Tally accounts for a source's content. Each byte of a text source lies in
// exactly one of the three sums; for Parquet and Arrow the counts are rows and
// RecordBytes is the whole content.
type Tally struct {
	Records, Rejected, Ignored               int64
	RecordBytes, RejectedBytes, IgnoredBytes int64
}

// Add sums two tallies.
func (t *Tally) Add(u Tally) {
	t.Records += u.Records
	t.Rejected += u.Rejected
	t.Ignored += u.Ignored
	t.RecordBytes += u.RecordBytes
	t.RejectedBytes += u.RejectedBytes
	t.IgnoredBytes += u.IgnoredBytes
}

// Bytes gives the bytes accounted for.
func (t Tally) Bytes() int64 { return t.RecordBytes + t.RejectedBytes + t.IgnoredBytes }

// Holdings says what a case already holds, so that nothing is taken twice.
type Holdings struct {
	ByDigest map[Digest]int // to source ids
	ByID     map[int]Held
	Sizes    map[int64]bool // of sources, in bytes on disk
	Paths    map[string]int // to the newest content found there
	NextID   int
}

// Held is a content that the case holds.
type Held struct {
	Digest Digest
	Bytes  int64
}
