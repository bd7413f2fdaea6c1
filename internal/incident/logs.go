package incident

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// NodeForLog says whose log the file at name is: that of the node whose log
// glob matches, else of the one named like the file's stem, else like its
// folder. A glob with folders is matched against as many of the last folders
// of name. known adds the names of nodes that other evidence mentions.
//
// how gives the reason in words. If several globs match, no node is chosen.
func (in *Incident) NodeForLog(name string, known []string) (node, how string, ok bool) {
	parts := strings.Split(filepath.ToSlash(name), "/")

	var byGlob []string
	for _, n := range in.Nodes {
		if n.Log != "" && matches(n.Log, parts) {
			byGlob = append(byGlob, n.Name)
			how = fmt.Sprintf("log glob %q", n.Log)
		}
	}
	switch {
	case len(byGlob) == 1:
		return byGlob[0], how, true
	case len(byGlob) > 1:
		return "", fmt.Sprintf("ambiguous: log globs of nodes %s match", strings.Join(byGlob, ", ")), false
	}

	isNode := func(name string) bool {
		return name != "" && (slices.Contains(known, name) ||
			slices.ContainsFunc(in.Nodes, func(n Node) bool { return n.Name == name }))
	}
	// A node's own name may end like a suffix, so the longest stem wins.
	for stem := parts[len(parts)-1]; ; {
		if isNode(stem) {
			return stem, fmt.Sprintf("file name %q", stem), true
		}
		shorter := suffix.ReplaceAllString(stem, "")
		if shorter == stem {
			break
		}
		stem = shorter
	}
	if len(parts) > 1 {
		if folder := parts[len(parts)-2]; isNode(folder) {
			return folder, fmt.Sprintf("folder %q", folder), true
		}
	}
	return "", "no node", false
}

// suffix is what compression, format and log rotation append to a log's name.
var suffix = regexp.MustCompile(`(\.(gz|zst|log|txt|jsonl|\d+|\d{4}-\d{2}-\d{2})|-\d{4}-?\d{2}-?\d{2})$`)

func matches(glob string, parts []string) bool {
	n := strings.Count(glob, "/") + 1
	if n > len(parts) {
		return false
	}
	ok, err := path.Match(glob, strings.Join(parts[len(parts)-n:], "/"))
	return ok && err == nil
}
