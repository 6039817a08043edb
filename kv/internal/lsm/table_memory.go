package lsm

import (
	"reflect"
	"unsafe"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/ristretto/v2/z"
)

// tableMemory is the memory that Badger 4.9.6 keeps of tables that it has built, for those that it builds next: up to eight
// pieces, each as large as the largest table, for as long as it writes. That is 100 MiB and more whatever the budget is,
// and no option bounds it.
type tableMemory struct {
	pool *z.AllocatorPool // nil if Badger has none
	free reflect.Value    // the channel of the pieces
}

// newTableMemory finds the memory in Badger, which does not show it. Only the pointer and the channel are read, and neither
// changes while the database is open.
func newTableMemory(db *badger.DB) tableMemory {
	field := reflect.ValueOf(db).Elem().FieldByName("allocPool")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*z.AllocatorPool]() || field.IsNil() {
		return tableMemory{}
	}
	free := field.Elem().FieldByName("allocCh")
	if !free.IsValid() || free.Kind() != reflect.Chan {
		return tableMemory{}
	}
	return tableMemory{*(**z.AllocatorPool)(unsafe.Pointer(field.UnsafeAddr())), free}
}

// release gives the memory back that no table is built in.
func (m tableMemory) release() {
	if m.pool == nil {
		return
	}
	for range m.free.Len() {
		m.pool.Get(1, "release").Release()
	}
}
