package report

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/graphcleaner/graphcleaner/internal/testing/must"
)

// rendered is a page as a browser gets it. Its figures are well-formed, and nothing in it leads outside or runs.
func rendered(t *testing.T, p *Page) string {
	t.Helper()
	var text strings.Builder
	must.Do(t, p.Write(&text, "graphcleaner v1.0.0"))
	checkPage(t, text.String())
	return text.String()
}

func checkPage(t *testing.T, page string) {
	t.Helper()
	if !strings.HasPrefix(page, "<!DOCTYPE html>") || !strings.HasSuffix(strings.TrimSpace(page), "</html>") {
		t.Error("page: it does not begin or end as one")
	}
	page = strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, "") // a name, and no address
	for _, unwanted := range []string{"<script", "src=", "href=", "@import", "url(", "ZgotmplZ", "NaN", "+Inf"} {
		if strings.Contains(page, unwanted) {
			t.Errorf("page: has %q", unwanted)
		}
	}
	for _, tag := range regexp.MustCompile(`<[^>]*>`).FindAllString(page, -1) { // a text may be an address
		if strings.Contains(tag, "http:") || strings.Contains(tag, "https:") {
			t.Errorf("page: has %s", tag)
		}
	}
	for i, part := range strings.Split(page, "<svg")[1:] {
		figure, _, closed := strings.Cut(part, "</svg>")
		if !closed {
			t.Fatalf("figure %d has no end", i+1)
		}
		for decoder := xml.NewDecoder(strings.NewReader("<svg" + figure + "</svg>")); ; {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("figure %d: %v", i+1, err)
			}
		}
	}
}
