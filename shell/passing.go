package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/internal/files"
	"github.com/graphcleaner/graphcleaner/shell/internal/holder"
	"github.com/graphcleaner/graphcleaner/shell/stream"
)

// A passedFile is what a name of a command line leads to: the next of the descriptors that go along, or an error.
type passedFile struct {
	Name     string
	IsOutput bool
	Number   syscall.Errno // of the error
	Err      string        // without a number
}

// fail notes an error of the file.
func (p *passedFile) fail(err error) {
	if number, ok := errors.AsType[syscall.Errno](err); ok && errors.As(err, new(*fs.PathError)) {
		p.Number = number
	} else {
		p.Err = err.Error()
	}
}

// err is the error that fail has noted.
func (p *passedFile) err() error {
	switch {
	case p.Number != 0:
		return &fs.PathError{Op: "open", Path: p.Name, Err: p.Number}
	case p.Err != "":
		return errors.New(p.Err)
	}
	return nil
}

// A passing is the files that a command line names, opened for another process. A file that is written lies beside its
// place until commit. That of a task is nil.
type passing struct {
	ctx     context.Context
	stdin   io.Reader
	files   []passedFile
	open    []*os.File
	seen    map[string]bool
	outputs map[string]*atomic.File
	once    bool // one of them, such as a pipe, is not read or written from its beginning again
	closers []io.Closer
}

// pass opens the files that the command line names.
func (s *streams) pass(ctx context.Context) *passing {
	p := &passing{ctx: ctx, stdin: s.in, seen: make(map[string]bool), outputs: make(map[string]*atomic.File)}
	for _, value := range fileValues(s.arguments) {
		if value.Name == "DB" {
			continue
		}
		for _, path := range pathsOf(value) {
			switch {
			case path == "":
			case value.Tag.Get("file") == "read":
				p.find(path)
			case path != "-": // which goes to the output of the asker, in turn with what it is told
				mode := fs.FileMode(newFileMode)
				if value.Tag.Has("private") {
					mode = privateMode
				}
				p.write(path, mode)
			}
		}
	}
	return p
}

// find opens all files that a name of an input stands for: whatever is looked at to find the table.
func (p *passing) find(name string) {
	p.read(name)
	if name != stream.Input {
		files.Sources(stream.WithFiles(p.ctx, finder{p: p}), name)
	}
}

// A finder passes each file that is looked at.
type finder struct {
	stream.System
	p *passing
}

func (f finder) Open(ctx context.Context, name string) (*stream.File, error) {
	f.p.read(name)
	return f.System.Open(ctx, name)
}

func (f finder) Stat(name string) (fs.FileInfo, error) {
	f.p.read(name)
	return f.System.Stat(name)
}

// read opens a file to be read.
func (p *passing) read(name string) {
	if p.seen[name] {
		return
	}
	p.seen[name] = true
	f, err := p.input(name)
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil {
			p.once = p.once || name == stream.Input || !info.Mode().IsRegular() && !info.IsDir()
		}
	}
	p.add(passedFile{Name: name}, f, err)
}

func (p *passing) add(named passedFile, f *os.File, err error) {
	if err != nil {
		named.fail(err)
	} else {
		p.open = append(p.open, f)
	}
	p.files = append(p.files, named)
}

// input opens an input. Standard input that is no file is copied into a pipe.
func (p *passing) input(name string) (*os.File, error) {
	if name != stream.Input {
		f, err := stream.Open(p.ctx, name)
		if err != nil {
			return nil, err
		}
		p.closers = append(p.closers, f)
		return f.File, nil
	}
	if f, ok := p.stdin.(*os.File); ok {
		return f, nil
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, in)
	go func() {
		io.Copy(out, stream.NewReader(p.ctx, p.stdin)) //nolint:errcheck // the reader misses the rest
		out.Close()                                    //nolint:errcheck // likewise
	}()
	return in, nil
}

// write begins an output.
func (p *passing) write(name string, mode fs.FileMode) {
	o, err := atomic.Begin(p.ctx, name, mode)
	var f *os.File
	if err == nil {
		p.outputs[name], f = o, o.Open()
		p.once = p.once || o.InPlace()
	}
	p.add(passedFile{Name: name, IsOutput: true}, f, err)
}

// isOnce says whether the command cannot be given again with these files.
func (p *passing) isOnce() bool { return p != nil && p.once }

// begin prepares the files for a job, also after one that was not done.
func (p *passing) begin() error {
	if len(p.open) > 0 && !holder.PassesFiles {
		return errors.New("another process holds the store, and this system passes no files to it: end that process first")
	}
	for _, o := range p.outputs {
		if !o.InPlace() {
			if err := o.Truncate(0); err != nil {
				return err
			}
		}
	}
	return nil
}

// commit puts the outputs of some names into place.
func (p *passing) commit(names []string) (err error) {
	for _, name := range names {
		if p != nil && p.outputs[name] != nil {
			err = errors.Join(err, p.outputs[name].Commit())
			delete(p.outputs, name)
		}
	}
	return err
}

// close closes the files. What was not put into place is gone.
func (p *passing) close() (err error) {
	if p == nil {
		return nil
	}
	for _, o := range p.outputs {
		err = errors.Join(err, o.Discard())
	}
	for _, c := range p.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// A receivedFiles are the files that another process has passed for its job. No other name leads to a file.
type receivedFiles struct {
	inputs, outputs map[string]receivedFile

	mu   sync.Mutex
	done []string // outputs
}

type receivedFile struct {
	*os.File
	err error
}

// received gives files the names that they were passed with.
func received(passed []passedFile, open []*os.File) (*receivedFiles, error) {
	r := &receivedFiles{inputs: make(map[string]receivedFile), outputs: make(map[string]receivedFile)}
	for _, of := range passed {
		file := receivedFile{err: of.err()}
		if file.err == nil {
			if len(open) == 0 {
				return nil, fmt.Errorf("%s was not passed", of.Name)
			}
			file.File, open = open[0], open[1:]
		}
		if of.IsOutput {
			r.outputs[of.Name] = file
		} else {
			r.inputs[of.Name] = file
		}
	}
	return r, nil
}

// find finds a file among some.
func find(among map[string]receivedFile, name string) (*os.File, error) {
	file, ok := among[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name,
			Err: errors.New("the command has not passed it to the process that holds the store")}
	}
	return file.File, file.err
}

// Open opens a file to be read.
func (r *receivedFiles) Open(ctx context.Context, name string) (*stream.File, error) {
	f, err := find(r.inputs, name)
	if err != nil {
		return nil, err
	}
	return stream.Share(ctx, f)
}

// Stat describes a file. An output that is to be put into place is not there yet.
func (r *receivedFiles) Stat(name string) (fs.FileInfo, error) {
	if out := r.outputs[name].File; out != nil {
		info, err := out.Stat()
		if err == nil && info.Mode().IsRegular() {
			err = &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		return info, err
	}
	f, err := find(r.inputs, name)
	if err != nil {
		return nil, err
	}
	return f.Stat()
}

// Begun returns an output.
func (r *receivedFiles) Begun(name string) (*os.File, func(), error) {
	f, err := find(r.outputs, name)
	return f, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done = append(r.done, name)
	}, err
}

// written are the names of outputs that are complete.
func (r *receivedFiles) written() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done
}

// input is the standard input of the other process, which it passes if the command reads it.
func (r *receivedFiles) input(ctx context.Context) io.Reader {
	f, err := find(r.inputs, stream.Input)
	if err != nil {
		return strings.NewReader("")
	}
	return stream.NewReader(ctx, f)
}
