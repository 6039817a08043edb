package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/graphcleaner/graphcleaner/shell/internal/atomic"
	"github.com/graphcleaner/graphcleaner/shell/stream"
	"github.com/graphcleaner/graphcleaner/shell/table"
)

// passedFiles are files under their names, in the order in which they go to another process.
type passedFiles struct {
	names []string
	open  []*os.File
}

func (p *passedFiles) add(name string, f *os.File) {
	p.names, p.open = append(p.names, name), append(p.open, f)
}

// A passing is the files that a command line names, opened for another process. A file that is written lies beside its
// place until commit.
type passing struct {
	ctx             context.Context // nil before the files are opened
	inputs, outputs passedFiles
	begun           map[string]*atomic.File
	closers         []io.Closer
}

// open opens the files that the command line names.
func (p *passing) open(ctx context.Context, s *streams) (err error) {
	p.ctx, p.begun = ctx, make(map[string]*atomic.File)
	for _, value := range fileValues(s.arguments) {
		if value.Name == "DB" {
			continue
		}
		for _, path := range pathsOf(value) {
			isInput := value.Tag.Get("file") == "read"
			switch {
			case path == "" || path == stream.Input && !isInput: // output goes to that of the asker, in turn with messages
			case path == stream.Input:
				err = p.input(s.in)
			case isInput:
				err = p.find(path)
			default:
				err = p.write(path, value.Tag.Has("private"))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// find opens all files that a name of an input stands for: whatever is looked at to find the table.
func (p *passing) find(name string) error {
	if err := p.read(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // reading it says so
		return err
	}
	table.Files(stream.WithFiles(p.ctx, finder{p: p}), name) //nolint:errcheck // reading it says so
	return nil
}

// A finder passes each file that is looked at.
type finder struct {
	stream.System
	p *passing
}

func (f finder) Open(ctx context.Context, name string) (*stream.File, error) {
	f.p.read(name) //nolint:errcheck // the next line says it
	return f.System.Open(ctx, name)
}

func (f finder) Stat(name string) (fs.FileInfo, error) {
	f.p.read(name) //nolint:errcheck // likewise
	return f.System.Stat(name)
}

// read opens a file to be read.
func (p *passing) read(name string) error {
	if slices.Contains(p.inputs.names, name) {
		return nil
	}
	f, err := stream.Open(p.ctx, name)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, f)
	p.inputs.add(name, f.File)
	return nil
}

// input passes standard input. If it is no file, it is copied into a pipe.
func (p *passing) input(stdin io.Reader) error {
	if f, ok := stdin.(*os.File); ok {
		p.inputs.add(stream.Input, f)
		return nil
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	p.closers = append(p.closers, in)
	p.inputs.add(stream.Input, in)
	go func() {
		io.Copy(out, stream.NewReader(p.ctx, stdin)) //nolint:errcheck // the reader misses the rest
		out.Close()                                  //nolint:errcheck // likewise
	}()
	return nil
}

// write begins an output.
func (p *passing) write(name string, private bool) error {
	mode := fs.FileMode(newFileMode)
	if private {
		mode = privateMode
	}
	o, err := atomic.Begin(p.ctx, name, mode)
	if err != nil {
		return err
	}
	p.begun[name] = o
	p.outputs.add(name, o.Open())
	return nil
}

// files are all of them, inputs first.
func (p *passing) files() []*os.File {
	return slices.Concat(p.inputs.open, p.outputs.open)
}

// commit puts the outputs of some names into place.
func (p *passing) commit(names []string) (err error) {
	for _, name := range names {
		if p.begun[name] != nil {
			err = errors.Join(err, p.begun[name].Commit())
			delete(p.begun, name)
		}
	}
	return err
}

// close closes the files. An output that was not put into place is gone.
func (p *passing) close() (err error) {
	for _, o := range p.begun {
		err = errors.Join(err, o.Discard())
	}
	for _, c := range p.closers {
		err = errors.Join(err, c.Close())
	}
	return err
}

// A receivedFiles are the files that another process has passed for its job. No other name leads to a file.
type receivedFiles struct {
	inputs, outputs map[string]*os.File

	mu   sync.Mutex
	done []string // names of outputs that are complete
}

// named gives names to the first files of some.
func named(names []string, open []*os.File) map[string]*os.File {
	files := make(map[string]*os.File)
	for i, name := range names {
		files[name] = open[i]
	}
	return files
}

// find finds an input.
func (r *receivedFiles) find(name string) (*os.File, error) {
	if f := r.inputs[name]; f != nil {
		return f, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: syscall.ENOENT}
}

// Open opens a file to be read.
func (r *receivedFiles) Open(ctx context.Context, name string) (*stream.File, error) {
	f, err := r.find(name)
	if err != nil {
		return nil, err
	}
	return stream.Share(ctx, f)
}

// Stat describes a file. An output that is to be put into place is not there yet.
func (r *receivedFiles) Stat(name string) (fs.FileInfo, error) {
	if out := r.outputs[name]; out != nil {
		info, err := out.Stat()
		if err == nil && info.Mode().IsRegular() {
			err = &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		return info, err
	}
	f, err := r.find(name)
	if err != nil {
		return nil, err
	}
	return f.Stat()
}

// Begun returns an output.
func (r *receivedFiles) Begun(name string) (*os.File, func(), error) {
	f := r.outputs[name]
	if f == nil {
		return nil, nil, fmt.Errorf("%s: the command has not passed it to the process that holds the store", name)
	}
	return f, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done = append(r.done, name)
	}, nil
}

// input is the standard input of the other process, which it passes if the command reads it.
func (r *receivedFiles) input(ctx context.Context) io.Reader {
	if f := r.inputs[stream.Input]; f != nil {
		return stream.NewReader(ctx, f)
	}
	return strings.NewReader("")
}
