package pipeline

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"kvforensics/internal/casestore"
	"kvforensics/internal/exposure"
	"kvforensics/internal/sim"
	"kvforensics/notify"
	"kvforensics/notify/assess"
	"kvforensics/pairing"
)

var builtAt = time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)

func edition(t *testing.T) notify.Edition {
	t.Helper()
	config, err := assess.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	return notify.Edition{Number: 1, Built: builtAt, Program: "test", Config: config}
}

// exposed analyses evidence as far as packs need.
func exposed(t *testing.T, dir string) *casestore.Case {
	t.Helper()
	ctx := context.Background()
	c, _ := triage(t, dir)
	if err := Pair(ctx, c, pairing.Options{Seed: 1, Orderings: 16}); err != nil {
		t.Fatal(err)
	}
	if err := Expose(ctx, c, exposure.Options{Threshold: 0.95}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetFact(ctx, factSecret, strings.Repeat("ab", 32)); err != nil {
		t.Fatal(err)
	}
	return c
}

// hostile names, each with a canary of its tenant.
var hostileNames = []string{
	`=HYPERLINK(\"http://x\",\"%s\")`, `+1-1@%s`, `<script>alert(\"%s\")</script>`, `\e[31m%s`, `\u202Eevil%s`, `| %s | [a](http://x) **b**`, `@%s`, `\t%s`,
}

var tenantLine = regexp.MustCompile(`(- \{id: (t-[0-9a-f]+), name: )"[^"]*"`)

// plant gives every tenant a hostile name with a canary, and puts the canary into
// each of its request ids.
func plant(t *testing.T, dir string) map[string]string {
	t.Helper()
	canaries := map[string]string{}
	file := filepath.Join(dir, "incident.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	text = tenantLine.ReplaceAllFunc(text, func(line []byte) []byte {
		m := tenantLine.FindSubmatch(line)
		id := string(m[2])
		canaries[id] = "KANARIE" + strings.ToUpper(id[2:])
		name := fmt.Sprintf(hostileNames[n%len(hostileNames)], canaries[id])
		if n == len(hostileNames) {
			name += strings.Repeat("x", 40_000)
		}
		n++
		return []byte(string(m[1]) + `"` + name + `"`)
	})
	if len(canaries) < 5 {
		t.Fatal("no tenants in incident.yaml")
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "gateway", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal("no gateway files", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		for line := range bytes.Lines(text) {
			var row map[string]any
			d := json.NewDecoder(bytes.NewReader(line))
			d.UseNumber()
			if err := d.Decode(&row); err != nil {
				t.Fatal(err)
			}
			row["request_id"] = canaries[row["tenant_id"].(string)] + "-" + row["request_id"].(string)
			b, err := json.Marshal(row)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(b, '\n'))
		}
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return canaries
}

// plainBytes gives a file's bytes, those of an archive inflated, once as they are and
// once with entities decoded. It shares no code with the search of the product.
func plainBytes(t *testing.T, file string) string {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(body)
	if strings.HasSuffix(file, ".xlsx") {
		z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		text = ""
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			part, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			text += f.Name + string(part)
		}
	}
	return text + html.UnescapeString(text)
}

// No pack holds anything of another tenant: not its id, not the canaries in its
// name and its request ids. Its own hostile name runs nowhere.
func TestPacksHoldNothingOfOthers(t *testing.T) {
	cfg := sim.GLM53(9)
	cfg.Requests, cfg.Output.Gzip = 4000, false
	dir, _ := incidentOf(t, cfg)
	canaries := plant(t, dir)
	c := exposed(t, dir)
	out := filepath.Join(t.TempDir(), "packs")
	made, err := Notify(context.Background(), c, notify.Options{Out: out, Edition: edition(t), Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	if made.Packs < 10 {
		t.Fatalf("%d packs", made.Packs)
	}
	seen := 0
	for _, s := range made.Tenants {
		folder := filepath.Join(out, s.Pack)
		if _, err := notify.Verify(folder); err != nil {
			t.Error(err)
		}
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text := plainBytes(t, file)
			upper := strings.ToUpper(text)
			for id, canary := range canaries {
				if id == s.TenantID {
					if strings.Contains(upper, canary) {
						seen++
					}
					continue
				}
				if strings.Contains(upper, canary) || strings.Contains(text, id) {
					t.Errorf("%s: something of %s is in %s", s.TenantID, id, filepath.Base(file))
				}
			}
			if raw, _ := os.ReadFile(file); !strings.HasSuffix(file, ".xlsx") && bytes.ContainsAny(raw, "\x1b\u202e") {
				t.Errorf("%s: a control of its name is live in %s", s.TenantID, filepath.Base(file))
			}
			if strings.HasSuffix(file, ".html") {
				raw, _ := os.ReadFile(file)
				if bytes.Contains(raw, []byte("<script")) || bytes.Contains(raw, []byte("<a ")) {
					t.Errorf("%s: markup of a name is live in %s", s.TenantID, filepath.Base(file))
				}
			}
			if strings.HasSuffix(file, ".csv") {
				raw, _ := os.ReadFile(file)
				if regexp.MustCompile(`(^|,|\n)"?[=+@\t-]`).Match(raw) {
					t.Errorf("%s: a formula begins a cell of %s", s.TenantID, filepath.Base(file))
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no pack holds its own canaries: the search proves nothing")
	}
	// A canary that is in a pack fails the build, and puts nothing in place.
	bad := filepath.Join(t.TempDir(), "packs")
	_, err = Notify(context.Background(), c, notify.Options{Out: bad, Edition: edition(t), Canaries: []string{"zai-org/GLM-5.3"}})
	if err == nil || !strings.Contains(err.Error(), "search finished files") {
		t.Errorf("a planted canary went through: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(bad, "T-*")); len(left) > 0 {
		t.Errorf("%d packs were put in place", len(left))
	}
}

// The same case, edition and time give the same bytes; a second build keeps what
// stands, and mends what was changed.
func TestPacksAreReproducible(t *testing.T) {
	ctx := context.Background()
	dir, _ := incidentOf(t, small(12))
	c := exposed(t, dir)
	var folders [2]string
	for i := range folders {
		folders[i] = filepath.Join(t.TempDir(), "packs")
		if _, err := Notify(ctx, c, notify.Options{Out: folders[i], Edition: edition(t), Threads: 1 + i}); err != nil {
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(folders[0], func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(folders[0], path)
		x, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		y, err := os.ReadFile(filepath.Join(folders[1], rel))
		if err != nil || !bytes.Equal(x, y) {
			t.Errorf("%s differs", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	packs, _ := filepath.Glob(filepath.Join(folders[0], "T-*"))
	if err := os.WriteFile(filepath.Join(packs[0], "notice.md"), []byte("changed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := notify.Verify(packs[0]); err == nil || !strings.Contains(err.Error(), "was changed") {
		t.Errorf("verify says %v", err)
	}
	again, err := Notify(ctx, c, notify.Options{Out: folders[0], Edition: edition(t)})
	if err != nil || again.Packs != 1 || again.Kept != len(packs)-1 {
		t.Errorf("%d written, %d kept, %v", again.Packs, again.Kept, err)
	}
	openInOffice(t, packs[1])
}

// openInOffice has LibreOffice read a workbook, where it is installed.
func openInOffice(t *testing.T, pack string) {
	t.Helper()
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Log("LibreOffice is not installed: no workbook was opened in it")
		return
	}
	books, _ := filepath.Glob(filepath.Join(pack, "*.xlsx"))
	out := t.TempDir()
	cmd := exec.Command(office, "-env:UserInstallation=file://"+t.TempDir(), "--headless", "--convert-to", "pdf", "--outdir", out, books[0])
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if made, _ := filepath.Glob(filepath.Join(out, "*.pdf")); len(made) != 1 {
		t.Error("LibreOffice made no PDF of the workbook")
	}
}

// Notices move the clocks, and what is late needs a reason.
func TestNoticesMoveTheClocks(t *testing.T) {
	ctx := context.Background()
	dir, _ := incidentOf(t, small(13))
	c := exposed(t, dir)
	list, err := NoticeStatus(ctx, c, builtAt)
	if err != nil {
		t.Fatal(err)
	}
	s := list[0]
	if s.Notice != assess.Running && s.Notice != assess.DueSoon || s.Regulator != assess.NotStarted || s.NoticeDue.IsZero() {
		t.Fatalf("at first: %+v", s)
	}
	late := s.NoticeDue.Add(time.Second)
	now := late.Add(100 * time.Hour)
	send := notify.Notice{Kind: notify.Sent, At: late, Who: "A. Example"}
	if err := RecordNotice(ctx, c, s.TenantID, send, now); err == nil || !strings.Contains(err.Error(), "late") {
		t.Errorf("a late notice without a reason: %v", err)
	}
	send.Note = "the count was being checked"
	received := notify.Notice{Kind: notify.Received, At: late.Add(time.Hour), Who: "B. Example"}
	for _, n := range []notify.Notice{send, received} {
		if err := RecordNotice(ctx, c, s.Pack, n, now); err != nil {
			t.Fatal(err)
		}
	}
	list, err = NoticeStatus(ctx, c, received.At.Add(73*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if got := list[0]; got.Notice != assess.DoneLate || got.Regulator != assess.Overdue || !got.RegulatorBy.Equal(received.At.Add(72*time.Hour)) {
		t.Errorf("afterwards: %+v", got)
	}
	for _, n := range []notify.Notice{{Kind: "told", At: late, Who: "x"}, {Kind: notify.Sent, At: now.Add(time.Hour), Who: "x"}, {Kind: notify.Sent, At: late}} {
		if err := RecordNotice(ctx, c, s.TenantID, n, now); err == nil {
			t.Errorf("%+v was recorded", n)
		}
	}
}
