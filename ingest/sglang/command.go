package sglang

import (
	"bytes"
	"strings"

	"kvforensics/internal/evidence"
)

var launchers = []struct{ module, engine string }{
	{"sglang.launch_server", engineSGLang},
	{"sglang serve", engineSGLang},
	{"sglang_router.launch_router", engineRouter},
	{"sglang.srt.disaggregation.mini_lb", engineRouter},
}

// argumentNames gives the Python names of the flags that are shortened.
var argumentNames = map[string]string{
	"tp": "tp_size", "tensor_parallel_size": "tp_size", "dp": "dp_size", "data_parallel_size": "dp_size",
	"pp": "pp_size", "pipeline_parallel_size": "pp_size", "ep": "ep_size", "model": "model_path",
}

// shellStarts begin a line that shows a command.
var shellStarts = []string{"python", "+ ", "exec ", "sudo ", "env ", "nohup ", "numactl ", "docker run ", "srun ", "$ ", "# ", "CUDA_VISIBLE_DEVICES="}

// isCommand tells whether a line shows a command that starts an engine: a
// command, or one behind a shell prompt. Anywhere else such words are prose.
func isCommand(msg []byte) bool {
	head := msg[:min(len(msg), maxWidth)]
	if !bytes.Contains(head, []byte("sglang")) && !bytes.HasSuffix(msg, []byte{'\\'}) {
		return false
	}
	for _, s := range shellStarts {
		if bytes.HasPrefix(head, []byte(s)) {
			return true
		}
	}
	return promptEnd(head) > 0
}

// promptEnd gives the length of "(venv) user@host:~/dir$ ", 0 when there is none.
func promptEnd(b []byte) int {
	for i := 0; i+1 < len(b); i++ {
		switch c := b[i]; {
		case (c == '$' || c == '#') && b[i+1] == ' ':
			if bytes.IndexByte(b[:i], '@') > 0 {
				return i + 2
			}
			return 0
		case isName(c) || bytes.IndexByte([]byte("()[]@:~/ "), c) >= 0:
		default:
			return 0
		}
	}
	return 0
}

// opensCommand holds a command that may go on in the next line.
func opensCommand(h *held, r *row) bool { return h.width <= maxWidth }

// commandGoesOn joins what follows a backslash, and the arguments that a
// terminal wrapped to a line of their own.
func commandGoesOn(h *held, r *row) joint {
	switch {
	case r.stamped || len(r.msg) == 0 || h.rows >= carrierRows:
		return joint{}
	case figureGoesOn(h, r):
		return joint{piece: r.msg, on: true}
	case bytes.HasSuffix(h.msg, []byte{'\\'}):
		h.msg = h.msg[:len(h.msg)-1]
		return joint{piece: r.msg, glue: " ", on: true}
	case bytes.HasPrefix(r.msg, []byte("--")) || !isBlank(r.msg[0]) && bytes.Contains(r.msg, []byte(" --")) && width(r) <= h.width:
		return joint{piece: r.msg, on: true}
	}
	return joint{}
}

// readCommand reads the command line that starts a server or a router.
func (p *Parser) readCommand(msg []byte) error {
	for _, l := range launchers {
		_, args, ok := bytes.Cut(msg, []byte(l.module))
		if !ok || len(args) > 0 && !isBlank(args[0]) {
			continue
		}
		a := newLaunchArgs(l.engine)
		a.launch.Version = imageVersion(msg)
		if err := a.arguments(args); err != nil {
			return err
		}
		if l.engine == engineRouter {
			a.role = evidence.RoleRouter
		}
		p.emitLaunch(a, "command line")
		return nil
	}
	return errOther
}

// arguments reads --name value and --name=value. Of --prefill and --decode, a
// router's workers, all values are kept.
func (a *launchArgs) arguments(args []byte) error {
	workers := map[string][]string{}
	words := strings.Fields(strings.TrimRight(string(args), `")'; `))
	for i := 0; i < len(words); i++ {
		name, isFlag := strings.CutPrefix(words[i], "--")
		if !isFlag {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		if !given && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value, given = words[i], true
		}
		name = strings.ReplaceAll(name, "-", "_")
		switch full := argumentNames[name]; {
		case name == "prefill" || name == "decode":
			if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
				i++
				value += " " + words[i]
			}
			workers[name] = append(workers[name], value)
			continue
		case full != "":
			name = full
		}
		if !given {
			value = "true"
		}
		if err := a.set(name, []byte(value)); err != nil {
			return err
		}
	}
	for name, urls := range workers {
		a.flags[name] = urls
	}
	return nil
}

// imageVersion reads the version in an image tag: lmsysorg/sglang:v0.5.17.
func imageVersion(msg []byte) string {
	_, rest, ok := bytes.Cut(msg, []byte("lmsysorg/sglang:v"))
	if !ok {
		return ""
	}
	v := rest[:span(rest, func(c byte) bool { return isWord(c) || c == '.' })]
	if len(v) == 0 || !isDigit(v[0]) {
		return ""
	}
	return string(v)
}
