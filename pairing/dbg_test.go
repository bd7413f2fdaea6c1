package pairing

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
	"kvforensics/queries"
)

type dbCase struct{ db *sql.DB }

func (c dbCase) Select(ctx context.Context, q string, each func(func(...any) error) error, args ...any) error {
	rows, err := c.db.QueryContext(ctx, q, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := each(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
func (c dbCase) SelectStep(ctx context.Context, name string, each func(func(...any) error) error) error {
	t, _ := queries.Step(name)
	return c.Select(ctx, t, each)
}
func (c dbCase) Replace(ctx context.Context, table string, rows [][]any) error {
	c.db.Exec("DELETE FROM " + table)
	for _, row := range rows {
		marks := strings.TrimSuffix(strings.Repeat("?,", len(row)), ",")
		if _, err := c.db.Exec("INSERT INTO "+table+" VALUES ("+marks+")", row...); err != nil {
			return err
		}
	}
	return nil
}
func (c dbCase) SetFact(context.Context, string, string) error { return nil }

func TestDbg(t *testing.T) {
	dir := os.Getenv("DBG")
	if dir == "" {
		t.Skip()
	}
	db, err := sql.Open("duckdb", dir+"/case.duckdb")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	db.Exec("SET TimeZone='UTC'")
	c := dbCase{db}
	ctx := context.Background()
	p, err := newPlanner(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	ws := p.plan(func(int, rankKey) float64 { return firstSweeps })
	if err := loadRows(ctx, c, ws); err != nil {
		t.Fatal(err)
	}
	if err := loadFigures(ctx, c, ws); err != nil {
		t.Fatal(err)
	}
	for _, w := range ws {
		a := w.anchor(w.figures)
		fmt.Printf("%v since %v until %v rows %d figures %d sharp %d reading %v offset %d found %v targets %d boot %v sweeps %v\n", w.key, w.since.Time().Format("02 15:04:05"), w.until.Time().Format("02 15:04:05"), len(w.rows), len(w.figures), len(a.list), a.reading, a.offset/1000, a.found, len(w.targets), w.fromBoot, w.sweeps)
		if os.Getenv("RES") != "" {
			var steps []step
			for i := range w.rows {
				if r := &w.rows[i]; w.here(r) {
					steps = w.holds(r, a.reading, steps)
				}
			}
			ld := newLoad(steps)
			hist := map[int]int{}
			shown := 0
			for _, f := range w.figures {
				least, most := ld.between(f.at, f.at+second)
				pg := float64(f.tokens) / 64
				d := 0.0
				if pg < least {
					d = pg - least
				} else if pg > most {
					d = pg - most
				}
				hist[int(d)]++
				if (d > 8 || d < -8) && shown < 20 {
					shown++
					fmt.Println("    off", f.at.Time().Format("02 15:04:05"), pg, least, most)
				}
			}
			for k := -20; k < 20; k++ {
				fmt.Print(k, ":", hist[k], " ")
			}
			fmt.Println()
		}
		l := newLatent(w, a, len(p.boots))
		l.begin(rand.New(rand.NewPCG(1, 1)))
		for range 5 {
			l.sweep()
		}
		if m := os.Getenv("MAP"); m != "" {
			text, _ := os.ReadFile(m)
			truth := map[string][]string{}
			for _, line := range strings.Split(string(text), "\n") {
				f := strings.Fields(line)
				if len(f) > 3 {
					truth[f[0]] = f
				}
			}
			ids := map[place]string{}
			c.Select(ctx, "select source_id, line, request_id from requests", func(scan func(...any) error) error {
				var p place
				var id string
				scan(&p.source, &p.line, &id)
				ids[p] = id
				return nil
			})
			known := map[string]bool{}
			for _, id := range ids {
				known[id] = true
			}
			var cnt [2][2]int
			shown := 0
			for i := range l.candidates {
				cd := &l.candidates[i]
				r := w.rows[cd.row]
				f := truth[ids[r.place]]
				is := 0
				if f[1] == w.key.node && f[2] == fmt.Sprint(w.key.rank) {
					is = 1
				}
				hr := 0
				if cd.here {
					hr = 1
					l.put(cd, 1)
				}
				ev := l.evidence(cd)
				if cd.here {
					l.put(cd, -1)
				}
				cnt[is][hr]++
				if is != hr && shown < 15 {
					shown++
					fmt.Printf("    wrong short %v is %d here %d pages %.0f..%.0f anchors %d..%d ev %.2f prior %.2f recv %v fin %v status %d\n", cd.short, is, hr, cd.pages, cd.atEnd, cd.from, cd.to, ev, cd.prior, r.received.Time().Format("15:04:05.000"), nominal(&r).end.Time().Format("15:04:05.000"), r.status)
					if is == 1 && cd.to > cd.from && cd.before >= 0 && cd.after < len(l.excess) {
						b, a2 := cd.before, cd.after
						fmt.Printf("       before %v %.1f | from %.1f last %.1f | after %.1f\n", l.a.list[b].at.Time().Format("15:04:05.0"), l.excess[b], l.excess[cd.from], l.excess[cd.to-1], l.excess[a2])
					}
				}
			}
			fmt.Println("   candidates [is][here]", cnt)
			lostTrue := 0
			for id, f := range truth {
				if !known[id] && f[1] == w.key.node && f[2] == fmt.Sprint(w.key.rank) {
					lostTrue++
				}
			}
			fmt.Println("   truly lost (whole time)", lostTrue)
		}
		n := 0
		for _, ph := range l.phantoms() {
			if n++; n > 12 {
				break
			}
			fmt.Printf("   phantom %v..%v to %v..%v pages %.1f end %.1f\n", ph.from.Time().Format("02 15:04:05.0"), ph.to.Time().Format("15:04:05.0"), ph.until.Time().Format("15:04:05.0"), ph.by.Time().Format("15:04:05.0"), ph.pages, ph.pagesAtEnd)
		}
		fmt.Println("   phantoms", len(l.phantoms()))
	}
}
