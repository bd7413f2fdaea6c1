package assess

import (
	"errors"
	"fmt"
	"time"
	_ "time/tzdata" // London's time must not depend on the machine
)

// dueSoon is how long before its target a clock is due soon.
const dueSoon = 24 * time.Hour

// Clock is a period of hours that runs from Start without a pause: weekends and
// bank holidays count. A zero time is a time that nobody has stated.
type Clock struct {
	Start       time.Time
	Basis       string // what happened at Start
	Hours       int
	Provisional bool // the tenant has not said when it became aware
}

// RegulatorClock is the clock of Art. 33(1): hours (72 by law) from when the
// tenant became aware. While the tenant has not said when, it runs from the
// receipt of the notice, provisionally.
func RegulatorClock(tenantAware, noticeReceived time.Time, hours int) (Clock, error) {
	if tenantAware.IsZero() {
		return newClock(noticeReceived, "notice received", hours, true)
	}
	return newClock(tenantAware, "tenant aware", hours, false)
}

// NoticeClock is a processor's clock for its notice under Art. 33(2), which
// gives no hours: they are those of the contract.
func NoticeClock(providerAware time.Time, hours int) (Clock, error) {
	return newClock(providerAware, "provider aware", hours, false)
}

func newClock(start time.Time, basis string, hours int, provisional bool) (Clock, error) {
	const most = 24 * 366 * 10 // what is more is a slip, and far more would not fit a duration
	if hours < 1 || hours > most {
		return Clock{}, fmt.Errorf("start clock: want 1 to %d hours, not %d", most, hours)
	}
	return Clock{Start: start, Basis: basis, Hours: hours, Provisional: provisional && !start.IsZero()}, nil
}

// Target is when the period ends, in UTC, strictly by elapsed time. It is zero
// while the clock has not started.
func (c Clock) Target() time.Time { return c.after(c.Start) }

// LatestArguable is when the period ends if the hour of the start is not
// counted, as Art. 3 of Regulation 1182/71 has it. It is for a note beside the
// target, not to plan by.
func (c Clock) LatestArguable() time.Time {
	hour := c.Start.Truncate(time.Hour)
	if hour.Before(c.Start) {
		hour = hour.Add(time.Hour)
	}
	return c.after(hour)
}

func (c Clock) after(start time.Time) time.Time {
	if c.Start.IsZero() {
		return time.Time{}
	}
	return start.Add(time.Duration(c.Hours) * time.Hour).UTC()
}

// Mark is what must stand beside the clock's times, or "".
func (c Clock) Mark() string {
	if c.Provisional {
		return "tenant to confirm"
	}
	return ""
}

// ClockState says where a clock stands.
type ClockState string

// The states of a clock.
const (
	NotStarted ClockState = "not started"
	Running    ClockState = "running"
	DueSoon    ClockState = "due soon" // at most 24 hours are left
	Overdue    ClockState = "overdue"
	DoneInTime ClockState = "done in time"
	DoneLate   ClockState = "done late"
)

// State gives the state at now. What is said to be done after now is planned
// and not done.
func (c Clock) State(now, done time.Time) ClockState {
	isDone := !done.IsZero() && !done.After(now)
	switch {
	case c.Start.IsZero():
		return NotStarted
	case isDone && c.Late(done) > 0:
		return DoneLate
	case isDone:
		return DoneInTime
	case c.Late(now) > 0:
		return Overdue
	case c.Target().Sub(now) <= dueSoon:
		return DueSoon
	}
	return Running
}

// Late gives by how much t is past the target; 0 if it is not.
func (c Clock) Late(t time.Time) time.Duration {
	if c.Start.IsZero() {
		return 0
	}
	return max(0, t.Sub(c.Target()))
}

// CheckDone reports why done may not be marked complete: it has no time, its
// clock has no start, it is before the start, or it is late without a reason
// for the delay, which Art. 33(1) demands.
func (c Clock) CheckDone(done time.Time, delayReason string) error {
	switch late := c.Late(done); {
	case done.IsZero():
		return errors.New("complete clock: no time is stated")
	case c.Start.IsZero():
		return errors.New("complete clock: it has not started")
	case done.Before(c.Start):
		return fmt.Errorf("complete clock: %s is before its start at %s", UTC(done), UTC(c.Start))
	case late > 0 && blank(delayReason):
		return fmt.Errorf("complete clock: late by %s, and no reason for the delay is stated", late)
	}
	return nil
}

var london = func() *time.Location {
	zone, err := time.LoadLocation("Europe/London")
	if err != nil {
		panic(err) // the data is compiled in
	}
	return zone
}()

const timeForm = "2006-01-02 15:04:05 MST"

// UTC renders a time to the second in UTC; "" for a zero time.
func UTC(t time.Time) string { return render(t, time.UTC, timeForm) }

// London renders a time to the second as clocks in the UK show it, with the
// offset from UTC; "" for a zero time.
func London(t time.Time) string { return render(t, london, timeForm+" (-07:00)") }

func render(t time.Time, zone *time.Location, form string) string {
	if t.IsZero() {
		return ""
	}
	return t.In(zone).Format(form)
}
