//! The addresses in a `srcset`.

/// The addresses of the images in a `srcset` (HTML standard, "parse a srcset attribute"), whatever their sizes.
pub(super) fn images(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || {
        rest = rest.trim_start_matches(|letter: char| letter == ',' || letter.is_ascii_whitespace());
        let end = rest.find(|letter: char| letter.is_ascii_whitespace()).unwrap_or(rest.len());
        let url = &rest[..end];
        let bare = url.trim_end_matches(',');
        // After a comma at its end, no size can follow.
        rest = if bare.len() < url.len() { &rest[end..] } else { behind_size(&rest[end..]) };
        (!bare.is_empty()).then_some(bare)
    })
}

/// The text after a size. A size ends at a comma outside of parentheses.
fn behind_size(text: &str) -> &str {
    let mut is_nested = false;
    let end = text.find(|letter| {
        is_nested = letter == '(' || is_nested && letter != ')';
        letter == ',' && !is_nested
    });
    end.map_or("", |end| &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_as_browsers_find_them() {
        for (srcset, expected) in [
            ("a.png", &["a.png"][..]),
            ("a.png 1x, b.png 2x", &["a.png", "b.png"]),
            (" a.png 100w,\n\tb.png 200w ,c.png", &["a.png", "b.png", "c.png"]),
            ("a.png, b.png", &["a.png", "b.png"]),
            ("a,b.png 2x", &["a,b.png"]),
            ("a.png,b.png", &["a.png,b.png"]),
            ("data:image/png;base64,AA== 1x, b.png 2x", &["data:image/png;base64,AA==", "b.png"]),
            ("a.png (1x, 2x), b.png", &["a.png", "b.png"]),
            ("a.png (1x, b.png", &["a.png"]),
            (",, a.png 1x ,,", &["a.png"]),
            ("", &[]),
            (" , ", &[]),
        ] {
            assert_eq!(images(srcset).collect::<Vec<_>>(), expected, "{srcset}");
        }
    }
}
