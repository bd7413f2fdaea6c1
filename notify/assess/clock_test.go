package assess

import (
	"strings"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return instant
}

func aware(t *testing.T, text string) Clock {
	t.Helper()
	c, err := RegulatorClock(at(t, text), time.Time{}, 72)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClockVectors(t *testing.T) {
	for name, tt := range map[string]struct {
		aware, target, london, arguable string
	}{
		"C1 plain":        {"2026-03-13T10:23:00Z", "2026-03-16 10:23:00 UTC", "2026-03-16 10:23:00 GMT (+00:00)", "2026-03-16 11:00:00 UTC"},
		"C2 into summer":  {"2026-03-28T18:00:00Z", "2026-03-31 18:00:00 UTC", "2026-03-31 19:00:00 BST (+01:00)", "2026-03-31 18:00:00 UTC"},
		"C3 into winter":  {"2026-10-24T10:00:00+01:00", "2026-10-27 09:00:00 UTC", "2026-10-27 09:00:00 GMT (+00:00)", "2026-10-27 09:00:00 UTC"},
		"C4 bank holiday": {"2026-12-25T08:30:15Z", "2026-12-28 08:30:15 UTC", "2026-12-28 08:30:15 GMT (+00:00)", "2026-12-28 09:00:00 UTC"},
		"a part second":   {"2026-03-13T10:00:00.001Z", "2026-03-16 10:00:00 UTC", "2026-03-16 10:00:00 GMT (+00:00)", "2026-03-16 11:00:00 UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			c := aware(t, tt.aware)
			for _, pair := range [][2]string{
				{UTC(c.Target()), tt.target}, {London(c.Target()), tt.london}, {UTC(c.LatestArguable()), tt.arguable},
			} {
				if pair[0] != pair[1] {
					t.Errorf("got %s, want %s", pair[0], pair[1])
				}
			}
			if elapsed := c.Target().Sub(at(t, tt.aware)); elapsed != 72*time.Hour {
				t.Errorf("the period is %s", elapsed)
			}
		})
	}
}

// C5
func TestOneSecondLateNeedsAReason(t *testing.T) {
	c := aware(t, "2026-03-13T10:23:00Z")
	now := c.Target().Add(time.Hour)
	for _, tt := range []struct {
		done   time.Time
		reason string
		state  ClockState
		fault  string
	}{
		{c.Target(), "", DoneInTime, ""},
		{c.Target().Add(time.Second), "", DoneLate, "late by 1s"},
		{c.Target().Add(time.Second), " \n", DoneLate, "late by 1s"},
		{c.Target().Add(time.Nanosecond), "", DoneLate, "late by 1ns"},
		{c.Target().Add(time.Second), "several breaches reported as one", DoneLate, ""},
		{c.Start.Add(-time.Second), "", DoneInTime, "before its start"},
		{time.Time{}, "a reason", Overdue, "no time is stated"},
	} {
		if got := c.State(now, tt.done); got != tt.state {
			t.Errorf("done %s: state is %s, want %s", tt.done, got, tt.state)
		}
		err := c.CheckDone(tt.done, tt.reason)
		if tt.fault == "" && err != nil || tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)) {
			t.Errorf("done %s, reason %q: error is %v, want %q", tt.done, tt.reason, err, tt.fault)
		}
	}
}

// C6
func TestProvisionalClockRunsFromReceipt(t *testing.T) {
	received := at(t, "2026-03-13T10:23:00Z")
	c, err := RegulatorClock(time.Time{}, received, 72)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Provisional || c.Mark() != "tenant to confirm" || c.Basis != "notice received" || !c.Target().Equal(received.Add(72*time.Hour)) {
		t.Errorf("got %+v, mark %q", c, c.Mark())
	}
	confirmed, err := RegulatorClock(received.Add(-time.Hour), received, 72)
	if err != nil {
		t.Fatal(err)
	}
	if confirmed.Provisional || confirmed.Mark() != "" || confirmed.Basis != "tenant aware" || !confirmed.Start.Equal(received.Add(-time.Hour)) {
		t.Errorf("the tenant's own time does not count: %+v", confirmed)
	}
}

func TestClockThatHasNotStarted(t *testing.T) {
	c, err := RegulatorClock(time.Time{}, time.Time{}, 72)
	if err != nil {
		t.Fatal(err)
	}
	now := at(t, "2026-03-13T10:23:00Z")
	if c.State(now, time.Time{}) != NotStarted || c.State(now, now) != NotStarted || c.Provisional {
		t.Errorf("got %+v, %s", c, c.State(now, now))
	}
	if UTC(c.Target()) != "" || London(c.LatestArguable()) != "" {
		t.Errorf("it has the target %q and %q", UTC(c.Target()), London(c.LatestArguable()))
	}
	if err := c.CheckDone(now, "reason"); err == nil {
		t.Error("it can be completed")
	}
}

func TestClockStates(t *testing.T) {
	c := aware(t, "2026-03-13T10:23:00Z")
	planned := c.Target().Add(-time.Minute)
	for _, tt := range []struct {
		now  time.Time
		done time.Time
		want ClockState
	}{
		{c.Start, time.Time{}, Running},
		{c.Target().Add(-24*time.Hour - time.Nanosecond), time.Time{}, Running},
		{c.Target().Add(-24 * time.Hour), time.Time{}, DueSoon},
		{c.Target(), time.Time{}, DueSoon},
		{c.Target().Add(time.Nanosecond), time.Time{}, Overdue},
		{planned.Add(-time.Second), planned, DueSoon}, // said to be done, but only planned
		{planned, planned, DoneInTime},
		{c.Target().Add(time.Hour), c.Target().Add(2 * time.Hour), Overdue},
	} {
		if got := c.State(tt.now, tt.done); got != tt.want {
			t.Errorf("now %s, done %s: got %s, want %s", tt.now, tt.done, got, tt.want)
		}
	}
}

func TestNoticeClockTakesTheContractsHours(t *testing.T) {
	start := at(t, "2026-10-24T23:30:00Z")
	for _, hours := range []int{1, 24, 36, 48} {
		c, err := NoticeClock(start, hours)
		if err != nil || c.Basis != "provider aware" || c.Target().Sub(start) != time.Duration(hours)*time.Hour || c.Mark() != "" {
			t.Errorf("%d hours: got %+v, %v", hours, c, err)
		}
	}
	for _, hours := range []int{0, -24, 1 << 40} {
		if _, err := NoticeClock(start, hours); err == nil {
			t.Errorf("%d hours are taken", hours)
		}
	}
}
