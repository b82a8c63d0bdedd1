//! The shape of a URL: its path with numbers, dates and ids taken out, and the names of its parameters.
//!
//! | text | is | why |
//! |---|---|---|
//! | `12`, `page7` | a number `#` | a run of digits, also within a word |
//! | `3f9a17c2` | an `{id}` | 8 or more hexadecimal digits, two of them decimal |
//! | `7dQpX92kLmVw03Rt` | an `{id}` | 16 or more letters and digits, one of them a digit |
//! | `deadbeef`, `internationalization` | a word | no digit in it, and shorter than 32 |
//!
//! Nothing is decoded: an escape such as `%C3` has a digit like any other text. Everything is O(bytes of the URL), with one allocation for
//! the path and one for each parameter.

/// The least length of a run of hexadecimal digits that makes it an id, if it has a decimal digit.
const HEXADECIMAL: usize = 8;
/// The same for any letters and digits.
const MIXED: usize = 16;
/// The length from which any run of letters and digits is an id, with or without a digit.
const LONG: usize = 32;
/// The least number of names that makes a query a combination. One or two names never have many sets: one of them is often the page's own.
const COMBINED: usize = 3;

/// The shape of a path with its query: `/shop/{id}/2024-05-03/page12.html?b=1&a=2` has the shape `/shop/{id}/#-#-#/page#.html?a&b`. All
/// pages of a calendar have one shape, and all products of a shop.
pub(super) fn shape(path_and_query: &str) -> String {
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let mut shape = String::with_capacity(path_and_query.len());
    replace(path, true, &mut shape);
    let mut names = names(query);
    names.dedup();
    push_names(&names, &mut shape);
    shape
}

/// The sorted names of a query's parameters, without numbers and ids; a repeated name is repeated here.
fn names(query: &str) -> Vec<String> {
    let mut names: Vec<String> = parameters(query)
        .map(|parameter| {
            let raw = parameter.split('=').next().unwrap_or_default();
            let mut name = String::with_capacity(raw.len());
            replace(raw, true, &mut name);
            name
        })
        .collect();
    names.sort_unstable();
    names
}

fn push_names(names: &[String], shape: &mut String) {
    for (nth, name) in names.iter().enumerate() {
        shape.push(if nth == 0 { '?' } else { '&' });
        shape.push_str(name);
    }
}

/// A query that combines parameters, as filters of a list do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Combination {
    /// The shape of the path.
    pub(super) path: String,
    /// The shape of the URL, which has the set of its names. `None` if a name is repeated: such lists are endless, whatever names they
    /// have.
    pub(super) set: Option<String>,
}

/// The combination in a URL: three names or more, or one name repeated. `None` for other URLs; most have fewer than two parameters, and
/// return at once.
pub(super) fn combination(path_and_query: &str) -> Option<Combination> {
    let (path, query) = path_and_query.split_once('?')?;
    parameters(query).nth(1)?;
    let mut names = names(query);
    let all = names.len();
    names.dedup();
    let is_repeated = names.len() < all;
    if !is_repeated && names.len() < COMBINED {
        return None;
    }
    let mut shape = String::with_capacity(path_and_query.len());
    replace(path, true, &mut shape);
    let path = shape.clone();
    push_names(&names, &mut shape);
    Some(Combination { path, set: (!is_repeated).then_some(shape) })
}

/// The first directory in a shape, with its slashes; `/` for a page that is in none. It bounds what shapes cannot: a maze in which every page
/// has a shape of its own is still in one directory.
pub(super) fn section(shape: &str) -> &str {
    let path = shape.split('?').next().unwrap_or_default();
    let first = path.trim_start_matches('/');
    let begin = path.len() - first.len();
    match first.find('/') {
        Some(end) if begin > 0 => &path[begin - 1..=begin + end],
        _ => "/",
    }
}

/// The path and query without ids, which is the same for two sessions of one page. Numbers are left as they are. `None` if there is no id.
pub(super) fn without_ids(path_and_query: &str) -> Option<String> {
    ids(path_and_query).next()?;
    let mut without = String::with_capacity(path_and_query.len());
    replace(path_and_query, false, &mut without);
    Some(without)
}

/// Whether the links of a page, given by their paths and queries, have one id in common that the page's own URL lacks. The links with an id
/// must lead to at least two URLs, compared without it; a second id among them makes this false.
pub(crate) fn renew_ids<'a>(own: &str, links: impl Iterator<Item = &'a str>) -> bool {
    let mut id = None;
    let mut first = None;
    let mut are_many = false;
    for link in links {
        let Some(without) = without_ids(link) else { continue };
        for run in ids(link) {
            if *id.get_or_insert(run) != run || ids(own).any(|own| own == run) {
                return false;
            }
        }
        are_many |= *first.get_or_insert_with(|| without.clone()) != without;
    }
    are_many
}

/// The ids in a text.
pub(super) fn ids(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|run| is_id(run))
}

/// How many parameters a query has, without empty ones. Their names do not matter, since a trap invents them.
pub(crate) fn count_parameters(path_and_query: &str) -> usize {
    path_and_query.split_once('?').map_or(0, |(_, query)| parameters(query).count())
}

/// The parameters of a query, without empty ones: `a&&b` has two.
fn parameters(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|parameter| !parameter.is_empty())
}

/// Appends a text with its ids replaced, and its numbers too if `numbers` is set.
fn replace(text: &str, numbers: bool, to: &mut String) {
    let mut rest = text;
    while !rest.is_empty() {
        let length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let (run, after) = rest.split_at(length);
        if is_id(run) {
            to.push_str("{id}");
        } else if numbers {
            replace_numbers(run, to);
        } else {
            to.push_str(run);
        }
        let other = after.find(|letter: char| letter.is_ascii_alphanumeric()).unwrap_or(after.len());
        to.push_str(&after[..other]);
        rest = &after[other..];
    }
}

/// Appends letters as they are, and `#` for each number, however many digits it has.
fn replace_numbers(run: &str, to: &mut String) {
    let mut is_number = false;
    for letter in run.chars() {
        let was_number = std::mem::replace(&mut is_number, letter.is_ascii_digit());
        match (is_number, was_number) {
            (false, _) => to.push(letter),
            (true, false) => to.push('#'),
            (true, true) => {}
        }
    }
}

/// Whether a run of letters and digits looks random. A number below 32 digits does not, nor does a word: a shop's item numbers and an
/// encyclopedia's titles must not be taken for sessions.
fn is_id(run: &str) -> bool {
    if run.len() < HEXADECIMAL {
        return false;
    }
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    if digits == run.len() {
        return run.len() >= LONG;
    }
    let is_hexadecimal = || run.bytes().all(|byte| byte.is_ascii_hexdigit());
    run.len() >= LONG || digits > 0 && (run.len() >= MIXED || digits > 1 && is_hexadecimal())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_has_no_numbers_and_no_ids() {
        for (text, of) in [
            ("/", "/"),
            ("/a/b.html", "/a/b.html"),
            ("/calendar/2031/05", "/calendar/#/#"),
            ("/2024-05-03/page12.html", "/#-#-#/page#.html"),
            ("/s/3f9a17c2/page7", "/s/{id}/page#"),
            ("/s/7dQpX92kLmVw03Rt/a", "/s/{id}/a"),
            ("/java17/deadbeef/facade", "/java#/deadbeef/facade"),
            ("/list?b=1&a=2&a=3&", "/list?a&b"),
            ("/list?a[0]=2&a[1]=3", "/list?a[#]"),
            ("/caf%C3%A9/1", "/caf%C#%A#/#"),
        ] {
            assert_eq!(shape(text), of, "{text}");
        }
    }

    #[test]
    fn a_section_is_the_first_directory() {
        for (text, of) in
            [("/", "/"), ("/a", "/"), ("/a/", "/a/"), ("/a12/b/c?d/e", "/a#/"), ("//x/y", "/x/"), ("?a/b", "/")]
        {
            assert_eq!(section(&shape(text)), of, "{text}");
        }
    }

    #[test]
    fn sessions_of_a_page_have_it_in_common() {
        for (text, of) in [
            ("/s/3f9a17c2/page7?sid=0a1b2c3d4e", Some("/s/{id}/page7?sid={id}")),
            ("/s/10000000/page7", None),
            ("/encyclopedia/internationalization", None),
            ("/blog/2024/05/03", None),
        ] {
            assert_eq!(without_ids(text).as_deref(), of, "{text}");
        }
        assert_eq!((count_parameters("/a?b&c=1&&d"), count_parameters("/a")), (3, 0));
    }

    #[test]
    fn three_names_or_one_again_are_a_combination() {
        for (text, set) in [
            ("/a/7?c=1&a=2&b", Some(Some("/a/#?a&b&c"))),
            ("/a/7?b=1&b=2", Some(None)),
            ("/a/7?f[0]=red&f[1]=small", Some(None)),
            ("/a/7?f=red&g=small&", None),
            ("/a/7?f=red", None),
            ("/a/7", None),
        ] {
            let of = |set: Option<&str>| Combination { path: "/a/#".to_owned(), set: set.map(str::to_owned) };
            assert_eq!(combination(text), set.map(of), "{text}");
        }
    }
}
