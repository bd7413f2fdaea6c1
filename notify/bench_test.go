package notify

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kvforensics/notify/assess"
)

// rowsOf is a case of so many tenants, each with so many affected requests, as
// the steps would give it.
type rowsOf struct{ tenants, requests int }

func (r rowsOf) Select(context.Context, string, func(func(...any) error) error, ...any) error {
	return nil
}

func (r rowsOf) SelectStep(_ context.Context, name string, each func(func(...any) error) error) error {
	at := int64(1_788_000_000_000_000)
	switch name {
	case "notify_incident":
		return each(scanner(at, at+86_400_000_000, nil, nil, "oversize-placeholder", at+86_400_000_000))
	case "notify_limits":
		return each(scanner("rule", "implausible-ttft", "2 % of the requests it speaks of lacked what it needs"))
	}
	for i := range r.tenants {
		id := fmt.Sprintf("tenant-%04d", i)
		switch name {
		case "notify_tenants":
			for _, direction := range []string{AsSource, AsRecipient} {
				err := each(scanner(id, fmt.Sprintf("Company %d of Anytown Ltd", i), "GB", fmt.Sprintf("dpo@company-%d.example", i), "finance", int64(24), "controller",
					direction, "oversize-placeholder", int64(10), 12.5, int64(20), 1e6, at, at, "exposed", "2 of 12 candidate requests are not sure"))
				if err != nil {
					return err
				}
			}
		case "notify_source_events":
			for k := range r.requests {
				others := fmt.Sprintf("tenant-%04d\x1ftenant-%04d", (i+k+1)%r.tenants, (i+7*k+2)%r.tenants)
				if err := each(scanner(id, "oversize-placeholder", fmt.Sprintf("%08x-%08x", i, k), at+int64(k), 0.9, 5000.0, int64(0), int64(5000), "prompt", others)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scanner gives the values of one row to the variables it is asked for.
func scanner(values ...any) func(...any) error {
	return func(into ...any) error {
		for i, v := range values {
			switch to := into[i].(type) {
			case *sql.Null[int64]:
				if v != nil {
					*to = sql.Null[int64]{V: v.(int64), Valid: true}
				}
			case *sql.Null[float64]:
				*to = sql.Null[float64]{V: v.(float64), Valid: true}
			default:
				at := reflect.ValueOf(into[i]).Elem()
				at.Set(reflect.ValueOf(v).Convert(at.Type()))
			}
		}
		return nil
	}
}

// BenchmarkBuild makes packs for 1,000 tenants with 200 affected requests each.
func BenchmarkBuild(b *testing.B) {
	config, err := assess.Shipped()
	if err != nil {
		b.Fatal(err)
	}
	for range b.N {
		out, err := Build(context.Background(), rowsOf{1000, 200}, Options{
			Out: filepath.Join(b.TempDir(), "packs"), Secret: []byte("s"), Threads: 2,
			Incident: Incident{Name: "i", Model: "m", Role: assess.Processor, Aware: time.UnixMicro(1_788_000_000_000_000)},
			Edition:  Edition{Number: 1, Built: time.UnixMicro(1_788_200_000_000_000).UTC(), Program: "bench", Config: config},
		})
		if err != nil || out.Packs != 1000 {
			b.Fatal(out.Packs, err)
		}
	}
	if text, err := os.ReadFile("/proc/self/status"); err == nil {
		for line := range strings.Lines(string(text)) {
			var kb float64
			if n, _ := fmt.Sscanf(line, "VmHWM: %f kB", &kb); n == 1 {
				b.ReportMetric(kb/1024, "peak-MB")
			}
		}
	}
}
