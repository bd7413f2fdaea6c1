package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kvforensics/internal/evidence"
)

// writeIncident writes incident.yaml, as the people on the case would state it.
func writeIncident(cfg *Config, dir string, tenants []tenant) error {
	var b bytes.Buffer
	stamp := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	signal := cfg.To.Add(-min(15*time.Hour, cfg.To.Sub(cfg.From)/4))
	fmt.Fprintf(&b, "# Synthetic: made by kvforensics sample --seed %d. No company in it exists.\n", cfg.Seed)
	fmt.Fprintf(&b, "incident: %s\nrole: processor\nmodel: %s\ntimezone: UTC\n", cfg.Name, cfg.Model)
	fmt.Fprintf(&b, "window: {from: %s, to: %s}\n", stamp(cfg.From), stamp(cfg.To))
	fmt.Fprintf(&b, "aware: {first_signal: %s, provider: %s}\n", stamp(signal), stamp(cfg.To.Add(-38*time.Minute)))
	b.WriteString("nodes:\n")
	for i := range cfg.Nodes {
		writeNode(&b, cfg, i)
	}
	b.WriteString("tenants:\n")
	for _, t := range tenants {
		fmt.Fprintf(&b, "  - {id: %s, name: %q, country: %s, contact: %s, sector: %s, notice_hours: %d, role: %s}\n",
			t.ID, t.Name, t.Country, t.Contact, t.Sector, t.NoticeHours, t.Role)
	}
	b.WriteString("case_lead: A. Example\n")
	if err := os.WriteFile(filepath.Join(dir, "incident.yaml"), b.Bytes(), 0o666); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	return nil
}

func writeNode(b *bytes.Buffer, cfg *Config, i int) {
	n := &cfg.Nodes[i]
	fmt.Fprintf(b, "  - {name: %s, role: %s, engine: sglang, version: %s", n.Name, n.Role, cfg.Engine.Version)
	if n.Role != evidence.RoleUnified {
		fmt.Fprintf(b, ", transfer_backend: %s", cfg.Engine.TransferBackend)
	}
	if n.Timezone != "" {
		fmt.Fprintf(b, ", timezone: %s", n.Timezone)
	}
	fmt.Fprintf(b, ",\n     log: \"%s.log*\", addresses: [%s], ranks: %d, pool_tokens: %d, page_size: %d, context_len: %d,\n",
		n.Name, address(i), n.Ranks, n.PoolTokens, cfg.Engine.PageSize, cfg.Engine.ContextLen)
	b.WriteString("     flags: {deferred_kv_release: false, kv_checksum: false, kv_canary: none}}\n")
}

func address(node int) string { return fmt.Sprintf("10.0.%d.%d", node/250, node%250+2) }
