package sglang

import (
	"bytes"
	"fmt"
	"strings"

	"kvforensics/internal/evidence"
)

// Facts are conclusions about a whole log.
type Facts struct {
	Roles []RoleFact // each role that a line states or implies, in order of appearance

	Version    string // as stated, "" when no line states it
	VersionHow string // what stated it: "config: line 3: server info", or "inferred: …"

	Engine    Span // stamps of the engine's own clock
	Collector Span // stamps with zone, of a collector or of a logging library
}

// RoleFact is a role and the first line that shows it.
type RoleFact struct {
	Role   evidence.Role
	Config bool   // stated by a configuration, not implied by a line that only this role prints
	How    string // "config: line 3: server_args", "inferred: line 8: prefill_batch"
	Line   int64
}

// Span is the first and the last stamp of a log in the order of its lines, as
// written; time may run backwards in between.
type Span struct{ First, Last string }

// Role gives the role of the node that wrote the log: what configurations
// state, else what lines imply. It is unknown where they disagree, as in a
// log of several nodes.
func (f *Facts) Role() evidence.Role {
	for _, config := range [2]bool{true, false} {
		found := evidence.RoleUnknown
		for _, r := range f.Roles {
			switch {
			case r.Config != config:
			case found != evidence.RoleUnknown && found != r.Role:
				return evidence.RoleUnknown
			default:
				found = r.Role
			}
		}
		if found != evidence.RoleUnknown {
			return found
		}
	}
	return evidence.RoleUnknown
}

// learn takes what an event says of the log.
func (f *Facts) learn(e *evidence.EngineEvent) {
	config := e.Kind == evidence.EventLaunch
	if e.Role != evidence.RoleUnknown && !f.hasRole(e.Role, config) {
		what := string(e.Kind)
		if config || e.Kind == evidence.EventRoleHint {
			what = e.Message
		}
		f.Roles = append(f.Roles, RoleFact{Role: e.Role, Config: config, Line: e.Line, How: how(config, e.Line, what)})
	}
	if v := e.Launch.Version; v != "" && !strings.HasPrefix(f.VersionHow, "config") {
		f.Version = strings.Clone(v)
		f.VersionHow = how(true, e.Line, e.Message)
	}
}

// environment reads the version in the name of a Python environment, which a
// shell prompt shows: "((sglang-0.5.9) ) [user@host ~]$". The name is chosen by
// a person, so it is an inference.
func (f *Facts) environment(msg []byte, line int64) {
	if f.VersionHow != "" || len(msg) < 10 || msg[0] != '(' {
		return
	}
	name, ok := bytes.CutPrefix(bytes.TrimLeft(msg[:min(len(msg), 60)], "("), []byte("sglang-"))
	n := span(name, func(c byte) bool { return isWord(c) || c == '.' })
	if !ok || n == 0 || n == len(name) || name[n] != ')' || !isDigit(name[0]) {
		return
	}
	f.Version = string(name[:n])
	f.VersionHow = how(false, line, "name of a Python environment")
}

func (f *Facts) hasRole(role evidence.Role, config bool) bool {
	for _, r := range f.Roles {
		if r.Role == role && r.Config == config {
			return true
		}
	}
	return false
}

func how(config bool, line int64, what string) string {
	basis := "inferred"
	if config {
		basis = "config"
	}
	return fmt.Sprintf("%s: line %d: %s", basis, line, what)
}

// stamps keeps the texts of the first and last stamp without a string for
// every line.
type stamps struct {
	first, last []byte
}

func (s *stamps) add(text []byte) {
	if text == nil {
		return
	}
	if s.first == nil {
		s.first = bytes.Clone(text)
	}
	s.last = append(s.last[:0], text...)
}

func (s *stamps) span() Span { return Span{First: string(s.first), Last: string(s.last)} }
