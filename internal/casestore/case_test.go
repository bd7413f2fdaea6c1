package casestore

import (
	"context"
	"testing"

	"kvforensics/internal/evidence"
)

func TestLoadKeepsEveryValue(t *testing.T) {
	ctx := context.Background()
	c, err := Create(ctx, t.TempDir(), Options{Command: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l, err := c.BeginLoad(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]evidence.Request, 5000)
	for i := range rows {
		rows[i].Line = int64(i)
		rows[i].RequestID = "a-rather-long-request-id-0123456789"
		if i%2 == 0 {
			rows[i].PromptTokens = evidence.Some(int64(i))
		}
	}
	if err := l.Rows(0, 7, rows, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Source(evidence.Source{ID: 7, Path: "x", Compression: "none", Encoding: "utf-8", Format: "f", FormatReason: "r", State: "read", Notes: []string{"a", "bb"}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	var n, known, sum int64
	if err := c.db.QueryRow("SELECT count(*), count(prompt_tokens), sum(prompt_tokens)::BIGINT FROM gateway_records WHERE request_id = 'a-rather-long-request-id-0123456789'").Scan(&n, &known, &sum); err != nil {
		t.Fatal(err)
	}
	if n != 5000 || known != 2500 || sum != 2499*2500 {
		t.Fatal(n, known, sum)
	}
	var notes string
	if err := c.db.QueryRow("SELECT notes::VARCHAR FROM sources").Scan(&notes); err != nil || notes != "[a, bb]" {
		t.Fatal(notes, err)
	}
}
