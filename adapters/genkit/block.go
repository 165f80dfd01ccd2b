package genkit

import (
	"encoding/json"

	"github.com/firebase/genkit/go/ai"
)

// plainText is the content type Genkit gives to texts.
const plainText = "plain/text"

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
	Own  *own   `json:"genkit,omitempty"`
}

type imageBlock struct {
	Type  string   `json:"type"`
	Image imageURL `json:"image_url"`
	Own   *own     `json:"genkit,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type partBlock struct {
	Type string          `json:"type"`
	Part json.RawMessage `json:"part"`
	Own  own             `json:"genkit"` // for the metadata that are bytes
}

// blockOf makes a block of content of a part.
func blockOf(p *ai.Part) (any, error) {
	o := ownOf(p, 0)
	switch {
	case p.IsText():
		b := textBlock{Type: "text", Text: p.Text}
		if p.ContentType != plainText && p.ContentType != "" {
			o.ContentType = p.ContentType
		}
		if o.ContentType != "" || len(o.Metadata) > 0 {
			b.Own = &o
		}
		return b, nil
	case p.IsImage():
		o.ContentType = p.ContentType
		return imageBlock{Type: "image_url", Image: imageURL{p.Text}, Own: &o}, nil
	}
	part, err := encode(p)
	o.Metadata = nil // it is in the part
	return partBlock{Type: partType, Part: part, Own: o}, err
}

// partsOf reads the content of a message. Blocks of other clients that are neither text
// nor image say nothing to Genkit and are left out.
func partsOf(content json.RawMessage) ([]*ai.Part, error) {
	var text string
	if json.Unmarshal(content, &text) == nil {
		if text == "" {
			return nil, nil
		}
		return []*ai.Part{ai.NewTextPart(text)}, nil
	}
	var blocks []json.RawMessage
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, readError(err)
	}
	var parts []*ai.Part
	for _, raw := range blocks {
		if json.Unmarshal(raw, &text) == nil {
			parts = append(parts, ai.NewTextPart(text))
			continue
		}
		p, err := partOf(raw)
		if err != nil {
			return nil, err
		}
		if p != nil {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// partOf reads one block; nil for one that says nothing to Genkit.
func partOf(raw json.RawMessage) (p *ai.Part, err error) {
	var b struct {
		Type  string          `json:"type"`
		Text  *string         `json:"text"`
		Image json.RawMessage `json:"image_url"`
		Part  json.RawMessage `json:"part"`
		Own   own             `json:"genkit"`
	}
	if json.Unmarshal(raw, &b) != nil {
		return nil, nil //nolint:nilerr // another client's, with other fields of these names
	}
	switch {
	case b.Type == partType:
		p = &ai.Part{}
		if err := json.Unmarshal(b.Part, p); err != nil {
			return nil, readError(err)
		}
		b.Own.Metadata = p.Metadata
	case b.Type == "image_url":
		url := urlOf(b.Image)
		if url == "" {
			return nil, nil
		}
		p = ai.NewMediaPart(b.Own.ContentType, url)
	case b.Text != nil:
		p = ai.NewTextPart(*b.Text)
		if b.Own.ContentType != "" {
			p.ContentType = b.Own.ContentType
		}
	default:
		return nil, nil
	}
	p.Metadata, err = b.Own.metadata()
	return p, err
}

// urlOf is the URL of an image, which is written as an object or as it is; "" of neither.
func urlOf(raw json.RawMessage) (url string) {
	var image imageURL
	if json.Unmarshal(raw, &image) == nil {
		return image.URL
	}
	_ = json.Unmarshal(raw, &url)
	return url
}
