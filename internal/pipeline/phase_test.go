package pipeline

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"kvforensics/ingest"
	"kvforensics/internal/casestore"
	"kvforensics/internal/incident"
)

func TestPhases(t *testing.T) {
	ctx := context.Background()
	dir := "/tmp/bench/case"
	os.RemoveAll(dir)
	c, err := casestore.Create(ctx, dir, casestore.Options{Command: "bench", Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t0 := time.Now()
	lap := func(n string) { fmt.Println(n, time.Since(t0)); t0 = time.Now() }
	files, _, _ := ingest.Find([]string{"/tmp/bench/2m.jsonl"})
	if _, err := load(ctx, c, files, IngestOptions{Workers: 2}, nil); err != nil {
		t.Fatal(err)
	}
	lap("load")
	in := &incident.Incident{}
	place(ctx, c, in, nil)
	lap("place")
	c.Step(ctx, "join_engine")
	lap("join")
	measurePools(ctx, c, in)
	lap("pools")
	c.WriteParquet(ctx)
	lap("parquet")
	c.Close()
	lap("close")
}
