package sim

import (
	"fmt"
	"time"
	_ "time/tzdata" // node logs print local time on machines without zone files

	"kvforensics/internal/evidence"
)

// Config describes an incident to simulate. Shares lie in 0..1. The zero value
// is of no use; begin with [Default] or [GLM53].
type Config struct {
	Seed     uint64
	Name     string // of the incident
	Model    string
	From, To time.Time // of arrivals

	Requests int    // gateway rows in all, the injected oversize ones among them
	Trace    string // file with arrival times and lengths, set at From; "" for synthetic ones

	Tenants int
	Nodes   []Node
	Engine  Engine
	Load    Load
	Limits  Oversize
	Faults  Faults
	Output  Output
	Damage  Damage `json:"-"` // of the evidence; it has no part in what happened
}

// Node is one worker.
type Node struct {
	Name       string
	Role       evidence.Role // prefill, decode or unified
	Ranks      int           // data-parallel ranks, each with its own pool
	PoolTokens int           // per rank, a multiple of the page size
	Timezone   string        // of its log, "" for UTC
	Offload    bool          // decode-side KV offload is on
}

// Engine holds what all nodes share.
type Engine struct {
	Version           string // "0.5.18", or "0.5.9" whose prefill nodes print no batch lines
	PageSize          int    // tokens
	ContextLen        int    // tokens
	ChunkedPrefill    int    // tokens of a prefill batch
	TPSize            int
	TransferBackend   string  // mooncake, nixl, mori
	StateIndices      bool    // the model has sparse-attention state, whose length mismatch is logged
	DecodeLogInterval int     // decode steps between two lines
	PoolJitter        float64 // how far a decode pool measured at a later boot may differ, as a share
	LogTimeStats      bool    // ReqTimeStats lines
	LogRequests       bool    // Finish lines
	SharedRID         bool    // the engines use the gateway's request id
}

// Load shapes the ordinary requests.
type Load struct {
	PromptMedian    float64 // tokens
	PromptSigma     float64 // of the logarithm
	TailShare       float64 // of prompts drawn from the heavy tail
	TailFrom        float64 // tokens
	TailIndex       float64 // exponent of the Pareto tail
	PromptMax       int     // tokens
	AnswerMedian    float64 // tokens
	AnswerSigma     float64
	AnswerMax       int           // tokens
	SessionShare    float64       // requests that continue a session
	DailySwing      float64       // 0: flat; near 1: nearly silent at night
	TenantSkew      float64       // exponent of the Zipf law
	UnifiedShare    float64       // requests that go to unified nodes
	PrefillPerToken time.Duration // cost of an uncached token
	PrefillSquare   float64       // seconds per token squared
}

// Oversize counts the prompts that are injected at or over an input limit.
type Oversize struct {
	Served        int // M_P <= N < M_D, answered with 200: the defect
	RefusedBoth   int // N at or over both scheduler limits: 400
	RefusedSmall  int // by a decode node whose pool is the smaller one: 400
	RefusedLength int // N at or over the context length: 400 by the tokenizer
	Unified       int // long prompts that a unified node serves as it should
	UnifiedRefuse int // and those that it refuses
}

// Faults are shares of requests, unless said otherwise.
type Faults struct {
	Abort         float64       // the client leaves at any time
	AbortInFlight float64       // the client leaves while KV is being copied: late writes
	EarlyRelease  float64       // the prefill side frees pages that are being copied
	OffloadReuse  float64       // of long answers on nodes with offload: pages freed while in use
	Error500      float64       // the transfer fails
	Error503      float64       // no worker is chosen
	FlightWindow  time.Duration // longest time for which a copy is in flight
	Restarts      int           // over the window, each of one node
	Flushes       int           // of one node's cache
	ProbeEvery    time.Duration // health probe of each prefill node, 0 for none
}

// Output says how evidence is written.
type Output struct {
	Format string // of gateway rows: jsonl or csv
	Gzip   bool
}

// Damage spoils the evidence, as happens. It never changes what happened.
type Damage struct {
	RowsLost         float64       // gateway rows
	HoursLost        float64       // hours of each node's log
	NoDecodeNode     float64       // rows without decode_node
	NoPrefillNode    float64       // rows without prefill_node
	NoRanks          float64       // rows without ranks
	ClockSkew        time.Duration // largest error of a node's clock
	GarbageLines     float64       // unreadable lines put in, per line
	DuplicateLines   float64       // lines that appear twice
	TruncateLastLine bool          // of every file
	GatewayOnly      bool          // no engine logs
	NoIncidentFile   bool
	NoStartupLines   bool // engine logs begin after the boot
}

// Default is a busy cluster in which all four defect classes occur.
func Default(seed uint64) Config {
	from := time.Date(2026, time.September, 1, 0, 0, 0, 0, time.UTC)
	return Config{
		Seed: seed, Name: "synthetic", Model: "example/sparse-moe", From: from, To: from.AddDate(0, 0, 1),
		Requests: 100_000,
		Tenants:  60,
		Nodes: []Node{
			{Name: "pre-0", Role: evidence.RolePrefill, Ranks: 2, PoolTokens: 409_600},
			{Name: "pre-1", Role: evidence.RolePrefill, Ranks: 2, PoolTokens: 409_600},
			{Name: "dec-0", Role: evidence.RoleDecode, Ranks: 2, PoolTokens: 655_360},
			{Name: "dec-1", Role: evidence.RoleDecode, Ranks: 2, PoolTokens: 655_360, Timezone: "Europe/London"},
			{Name: "dec-off", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 196_608, Offload: true},
			{Name: "dec-small", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 131_072},
			{Name: "uni-0", Role: evidence.RoleUnified, Ranks: 1, PoolTokens: 1_048_576},
		},
		Engine: Engine{
			Version: "0.5.18", PageSize: 64, ContextLen: 524_288, ChunkedPrefill: 32_768, TPSize: 8,
			TransferBackend: "mooncake", StateIndices: true, DecodeLogInterval: 400, PoolJitter: 0.002,
		},
		Load: Load{
			PromptMedian: 2500, PromptSigma: 1.2, TailShare: 0.015, TailFrom: 25_000, TailIndex: 1.3, PromptMax: 110_000,
			AnswerMedian: 400, AnswerSigma: 0.9, AnswerMax: 8192,
			SessionShare: 0.35, DailySwing: 0.6, TenantSkew: 1.1, UnifiedShare: 0.05,
			PrefillPerToken: 30 * time.Microsecond, PrefillSquare: 1.2e-10,
		},
		Limits: Oversize{Served: 120, RefusedBoth: 20, RefusedSmall: 10, RefusedLength: 20, Unified: 10, UnifiedRefuse: 5},
		Faults: Faults{
			Abort: 0.02, AbortInFlight: 0.008, EarlyRelease: 0.001, OffloadReuse: 0.05, Error500: 0.001, Error503: 0.0005,
			FlightWindow: 30 * time.Second, Restarts: 3, Flushes: 2, ProbeEvery: time.Minute,
		},
		Output: Output{Format: "jsonl"},
	}
}

// GLM53 has the shape of a public incident: two weeks in which 155 prompts that
// every prefill node was too small for were answered with 200.
func GLM53(seed uint64) Config {
	cfg := Default(seed)
	cfg.Name, cfg.Model = "glm-5.3", "zai-org/GLM-5.3"
	cfg.From = time.Date(2026, time.August, 27, 0, 0, 0, 0, time.UTC)
	cfg.To = time.Date(2026, time.September, 9, 14, 0, 0, 0, time.UTC)
	cfg.Requests = 20_000
	cfg.Tenants = 36
	cfg.Nodes = []Node{
		{Name: "pre-0", Role: evidence.RolePrefill, Ranks: 2, PoolTokens: 681_280},
		{Name: "pre-1", Role: evidence.RolePrefill, Ranks: 2, PoolTokens: 681_280},
		{Name: "dec-0", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 1_310_720},
		{Name: "dec-1", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 1_310_720},
		{Name: "dec-2", Role: evidence.RoleDecode, Ranks: 2, PoolTokens: 1_310_720},
		{Name: "dec-3", Role: evidence.RoleDecode, Ranks: 1, PoolTokens: 491_520},
		{Name: "uni-0", Role: evidence.RoleUnified, Ranks: 1, PoolTokens: 2_097_152},
	}
	cfg.Engine.ContextLen = 1_048_576
	cfg.Engine.ChunkedPrefill = 131_072
	cfg.Engine.DecodeLogInterval = 4000
	cfg.Engine.SharedRID = true
	cfg.Load.PromptMedian, cfg.Load.TailFrom, cfg.Load.TailShare, cfg.Load.PromptMax = 4000, 60_000, 0.04, 400_000
	cfg.Limits = Oversize{Served: 155, RefusedBoth: 12, RefusedSmall: 14, RefusedLength: 14, Unified: 8, UnifiedRefuse: 4}
	cfg.Faults.AbortInFlight, cfg.Faults.EarlyRelease, cfg.Faults.OffloadReuse = 0.002, 0, 0
	cfg.Faults.ProbeEvery = time.Hour
	cfg.Output.Gzip = true
	return cfg
}

func (c *Config) validate() error {
	switch {
	case c.Engine.PageSize < 1 || c.Engine.PageSize > 1<<12:
		return fmt.Errorf("simulate: page size %d is out of range", c.Engine.PageSize)
	case !c.To.After(c.From):
		return fmt.Errorf("simulate: the window ends before it begins")
	case c.Tenants < 2:
		return fmt.Errorf("simulate: want at least 2 tenants, not %d", c.Tenants)
	case c.Requests < c.Limits.total():
		return fmt.Errorf("simulate: %d requests cannot hold %d oversize ones", c.Requests, c.Limits.total())
	case c.Engine.DecodeLogInterval < 1 || c.Engine.ChunkedPrefill < c.Engine.PageSize:
		return fmt.Errorf("simulate: decode log interval and chunk must be positive")
	case c.Engine.Version != "0.5.18" && c.Engine.Version != "0.5.9":
		return fmt.Errorf("simulate: no log shapes for engine version %q", c.Engine.Version)
	case c.Output.Format != "jsonl" && c.Output.Format != "csv":
		return fmt.Errorf("simulate: unknown gateway format %q", c.Output.Format)
	}
	limits := limitsOf(c)
	if shortest := min(limits.prefillMin, limits.decodeMin); c.Load.PromptMax >= shortest {
		return fmt.Errorf("simulate: ordinary prompts of %d tokens do not fit the smallest node (%d)", c.Load.PromptMax, shortest)
	}
	roles := map[evidence.Role]bool{}
	for _, n := range c.Nodes {
		if n.Ranks < 1 || n.PoolTokens < 4*c.Engine.PageSize || n.PoolTokens%c.Engine.PageSize != 0 {
			return fmt.Errorf("simulate: node %s: want ranks and a pool of whole pages", n.Name)
		}
		roles[n.Role] = true
	}
	if !roles[evidence.RolePrefill] || !roles[evidence.RoleDecode] {
		return fmt.Errorf("simulate: want a prefill and a decode node")
	}
	return nil
}

func (o Oversize) total() int {
	return o.Served + o.RefusedBoth + o.RefusedSmall + o.RefusedLength + o.Unified + o.UnifiedRefuse
}
