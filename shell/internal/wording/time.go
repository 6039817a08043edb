package wording

import "time"

// timeLayouts are the ways to write a time, in UTC if there is no offset.
var timeLayouts = []string{
	time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime, "2006-01-02T15:04",
	"2006-01-02 15:04", time.DateOnly,
}

// ParseTime reads a time that a person or a file gives. The year 1 stands for no time.
func ParseTime(text string) (t time.Time, ok bool) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, text); err == nil && !t.IsZero() {
			return t, true
		}
	}
	return time.Time{}, false
}
