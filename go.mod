module github.com/graphcleaner/graphcleaner

go 1.26.0

require (
	github.com/RoaringBitmap/roaring/v2 v2.30.0 // sets of nodes, in memory and on disk
	github.com/alecthomas/kong v1.17.0 // flags, commands and help
	github.com/cockroachdb/datadriven v1.0.3 // tests: statements and answers as text
	github.com/dgraph-io/badger/v4 v4.9.6 // the store
	github.com/dgraph-io/ristretto/v2 v2.2.0 // types in the API of Badger
	github.com/google/flatbuffers v25.12.19+incompatible // the index of tables in the form of Badger
	github.com/klauspost/compress v1.20.3 // gzip files, and the pages of Parquet files
	github.com/parquet-go/parquet-go v0.32.0 // Parquet
	github.com/rivo/uniseg v0.4.7 // the width of texts on a terminal
	github.com/rogpeppe/go-internal v1.16.0 // tests: scripts of commands
	github.com/schollz/progressbar/v3 v3.19.1 // progress on a terminal
	github.com/vmihailenco/msgpack/v5 v5.4.1 // records
	go.uber.org/goleak v1.3.0 // tests: no goroutine is left
	golang.org/x/sys v0.49.0 // memory maps, locks, descriptors over sockets
	golang.org/x/term v0.47.0 // the line editor of the prompt, keys of the review
	gonum.org/v1/gonum v0.17.0 // distributions of probability, linear systems
	google.golang.org/protobuf v1.36.12 // the manifest of tables in the form of Badger
	pgregory.net/rapid v1.3.0 // tests: properties on random data
)

require (
	github.com/andybalholm/brotli v1.2.3 // indirect
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/mschoch/smat v0.2.0 // indirect
	github.com/parquet-go/bitpack v1.0.0 // indirect
	github.com/parquet-go/jsonlite v1.0.0 // indirect
	github.com/pierrec/lz4/v4 v4.1.29 // indirect
	github.com/pmezard/go-difflib v1.0.0 // indirect
	github.com/twpayne/go-geom v1.6.1 // indirect
	github.com/vmihailenco/tagparser/v2 v2.0.0 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.41.0 // indirect
	go.opentelemetry.io/otel/metric v1.41.0 // indirect
	go.opentelemetry.io/otel/trace v1.41.0 // indirect
	golang.org/x/tools v0.48.0 // indirect
)
