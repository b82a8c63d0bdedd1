//! Query parameters that do not choose a page.
//!
//! A name is on a list only if a page is the same with and without it, on every site that is known to use it. A missing name costs a few
//! pages fetched twice. A wrong one costs pages that are never fetched. So a doubtful name is left out.
//!
//! Any change of a list is another version of the [rules](super::KeyRules::VERSION): URLs would get other keys than a job has already seen.

/// [`KeyRules::TRACKING_PARAMETERS`](super::KeyRules::TRACKING_PARAMETERS).
pub(super) const TRACKING_PARAMETERS: &[&str] = &[
    // Google: Analytics, Ads, cross-domain linker, Merchant Center.
    "utm_*",
    "_ga",
    "_gl",
    "dclid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "srsltid",
    "wbraid",
    // Meta.
    "fb_action_ids",
    "fb_action_types",
    "fbclid",
    "igsh",
    "igshid",
    // Microsoft, X, LinkedIn, TikTok, Pinterest, Snapchat.
    "msclkid",
    "twclid",
    "li_fat_id",
    "ttclid",
    "epik",
    "sccid",
    // Yandex, and the open statistics that it reads.
    "_openstat",
    "yclid",
    "ymclid",
    "ysclid",
    // Matomo, once Piwik.
    "matomo_*",
    "mtm_*",
    "piwik_*",
    "pk_campaign",
    "pk_cid",
    "pk_content",
    "pk_keyword",
    "pk_kwd",
    "pk_medium",
    "pk_source",
    // HubSpot.
    "__hsfp",
    "__hssc",
    "__hstc",
    "_hsenc",
    "_hsmi",
    "hsctatracking",
    // Mailchimp, Marketo, Olytics, Vero, Wicked Reports.
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "oly_anon_id",
    "oly_enc_id",
    "vero_conv",
    "vero_id",
    "wickedid",
];

/// [`KeyRules::SESSION_PARAMETERS`](super::KeyRules::SESSION_PARAMETERS).
pub(super) const SESSION_PARAMETERS: &[&str] = &[
    // PHP, Java servlets, ASP (which appends eight letters of its own), ASP.NET, ColdFusion.
    "phpsessid",
    "jsessionid",
    "aspsessionid*",
    "asp.net_sessionid",
    "cfid",
    "cftoken",
    // osCommerce, xt:Commerce, Zen Cart.
    "oscsid",
    "xtcsid",
    "zenid",
];

/// [`KeyRules::HEX_SESSION_PARAMETERS`](super::KeyRules::HEX_SESSION_PARAMETERS).
pub(super) const HEX_SESSION_PARAMETERS: &[&str] = &["sessid", "session_id", "sessionid", "sid"];

/// Whether this parameter names a session by a digest: MD5 has 32 hexadecimal digits, and a number or a word that chooses a page has fewer.
pub(super) fn is_hex_session(name: &str, value: &str) -> bool {
    value.len() >= 32
        && value.bytes().all(|byte| byte.is_ascii_hexdigit())
        && HEX_SESSION_PARAMETERS.iter().any(|session| name.eq_ignore_ascii_case(session))
}

/// Names to drop, in a list for each first letter. So a lookup compares with a few names and not with all.
#[derive(Clone, Debug)]
pub(super) struct NameSet(Box<[Vec<Pattern>; 27]>);

/// A name to drop, or the beginning of names.
#[derive(Clone, Debug)]
struct Pattern {
    text: Box<str>,
    /// A `*` followed it.
    prefix: bool,
}

impl NameSet {
    /// The names of these patterns. `*` alone stands for all names, so it goes into every list.
    pub(super) fn new<'a>(patterns: impl Iterator<Item = &'a str>) -> Self {
        let mut set = Self(Box::default());
        for pattern in patterns {
            let text = pattern.strip_suffix('*').unwrap_or(pattern);
            let pattern = Pattern { text: text.into(), prefix: text.len() < pattern.len() };
            if text.is_empty() && pattern.prefix {
                set.0.iter_mut().for_each(|each| each.push(pattern.clone()));
            } else {
                set.0[initial(text)].push(pattern);
            }
        }
        set
    }

    /// Whether a name is to be dropped, in any case.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0[initial(name)].iter().any(|Pattern { text, prefix }| {
            let head = if *prefix { name.get(..text.len()) } else { Some(name) };
            head.is_some_and(|head| head.eq_ignore_ascii_case(text))
        })
    }
}

/// The index of the list: one for each letter, and one for everything else.
fn initial(name: &str) -> usize {
    match name.bytes().next() {
        Some(byte) if byte.is_ascii_alphabetic() => usize::from(byte.to_ascii_lowercase() - b'a'),
        _ => 26,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_prefixes_only_where_asked() {
        let set = NameSet::new(["utm_*", "_ga", "sid"].into_iter());
        for name in ["utm_", "UTM_Source", "utm_x", "_GA", "sid", "SID"] {
            assert!(set.contains(name), "{name}");
        }
        for name in ["", "utm", "autm_x", "_gat", "_g", "side", "xsid", "é"] {
            assert!(!set.contains(name), "{name}");
        }
        assert!(NameSet::new(["*"].into_iter()).contains("anything"));
        assert!(!NameSet::new(std::iter::empty()).contains("sid"));
    }

    #[test]
    fn the_built_in_lists_say_each_name_once() {
        let mut names: Vec<_> = TRACKING_PARAMETERS.iter().chain(SESSION_PARAMETERS).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        let set = NameSet::new(names.iter().map(|name| name.trim_end_matches('*')));
        assert!(HEX_SESSION_PARAMETERS.iter().all(|name| !set.contains(name)));
    }

    #[test]
    fn a_shared_name_is_a_session_only_with_a_digest() {
        assert!(is_hex_session("SID", "0123456789abcdef0123456789ABCDEF"));
        assert!(!is_hex_session("sid", "0123456789abcdef0123456789abcde"));
        assert!(!is_hex_session("sid", "0123456789abcdef0123456789abcdeg"));
        assert!(!is_hex_session("id", "0123456789abcdef0123456789abcdef"));
    }
}
