// Package began knows when the process began.
package began

import "time"

// At is when the process began, but for times before now when it waited: for a processor, or for the disk with the program. The package needs
// nothing that takes long to make ready, so Go comes here before it makes most others ready.
var At = time.Now().Add(-used())
