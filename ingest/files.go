package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// File is one file of evidence that was found.
type File struct {
	Path    string
	Size    int64
	Problem string // why it will not be opened
}

// truthMarker marks a folder that holds the answers to a synthetic incident.
const truthMarker = ".kvforensics-truth"

// Find lists the files under paths, which may be files, folders and glob
// patterns, in order of path and each once. Folders that are no evidence (a
// case, or the truth of a synthetic incident) are skipped and named.
func Find(paths []string) (files []File, skipped []string, err error) {
	w := walker{seen: map[string]bool{}}
	for _, p := range paths {
		if err := w.path(p); err != nil {
			return nil, nil, err
		}
	}
	if len(w.files) == 0 {
		return nil, nil, fmt.Errorf("find evidence: no file in %s", strings.Join(paths, ", "))
	}
	sort.Slice(w.files, func(i, j int) bool { return w.files[i].Path < w.files[j].Path })
	return w.files, w.skipped, nil
}

type walker struct {
	files   []File
	skipped []string
	seen    map[string]bool // absolute paths
}

func (w *walker) path(p string) error {
	info, err := os.Stat(p)
	if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(p, "*?[") {
		return w.glob(p)
	}
	if err != nil {
		return fmt.Errorf("find evidence: %w", err)
	}
	if info.IsDir() {
		return w.folder(filepath.Clean(p))
	}
	return w.add(filepath.Clean(p), info)
}

func (w *walker) glob(pattern string) error {
	matches, err := filepath.Glob(pattern)
	if err != nil {
		return fmt.Errorf("find evidence: pattern %q: %w", pattern, err)
	}
	if len(matches) == 0 {
		return fmt.Errorf("find evidence: nothing matches %q", pattern)
	}
	for _, m := range matches {
		if err := w.path(m); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) folder(root string) error {
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return w.trouble(p, err)
		}
		if d.IsDir() {
			if why := notEvidence(p); why != "" {
				w.skipped = append(w.skipped, fmt.Sprintf("%s: %s", p, why))
				return filepath.SkipDir
			}
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return w.link(root, p)
		}
		info, err := d.Info()
		if err != nil {
			return w.trouble(p, err)
		}
		return w.add(p, info)
	})
}

func notEvidence(dir string) string {
	for name, why := range map[string]string{
		truthMarker:   "the truth of a synthetic incident",
		"case.duckdb": "a case",
	} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return why
		}
	}
	return ""
}

func (w *walker) trouble(p string, err error) error {
	w.files = append(w.files, File{Path: p, Problem: err.Error()})
	return nil
}

// link follows a symbolic link only to where the walk goes anyhow, so that a
// link in the evidence can't make the program read something else.
func (w *walker) link(root, p string) error {
	target, err := filepath.EvalSymlinks(p)
	if err != nil {
		return w.trouble(p, err)
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return w.trouble(p, err)
	}
	if rel, err := filepath.Rel(base, target); err == nil && filepath.IsLocal(rel) {
		w.skipped = append(w.skipped, p+": a symbolic link inside the folder")
		return nil
	}
	return w.trouble(p, errors.New("symbolic link out of the folder: not followed"))
}

func (w *walker) add(p string, info fs.FileInfo) error {
	abs, err := filepath.Abs(p)
	if err != nil {
		return fmt.Errorf("find evidence: %w", err)
	}
	if w.seen[abs] {
		return nil
	}
	w.seen[abs] = true
	f := File{Path: p, Size: info.Size()}
	if !info.Mode().IsRegular() {
		f.Size, f.Problem = 0, "not a regular file ("+info.Mode().Type().String()+")"
	}
	w.files = append(w.files, f)
	return nil
}
