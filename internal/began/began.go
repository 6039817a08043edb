// Package began knows when the process began.
package began

import "time"

// At is the time when the process began. Waits until now are not counted: for a processor, or for the disk with the program. The package needs
// nothing that takes long to make ready, so Go comes here before it makes most others ready.
var At = time.Now().Add(-used())
