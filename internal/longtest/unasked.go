//go:build !long

package longtest

// Asked says that tests run at length.
const Asked = false
