//! How the crawl signs in at a host.

use std::fmt;
use std::str::FromStr;

use super::secret::Secret;

/// How the crawl signs in at a host: by a header with a secret in it. This crawler does not fill in login forms.
///
/// ```
/// use crawler::crawl::{Secret, SignIn};
///
/// let sign_in: SignIn = "bearer env:TOKEN".parse().unwrap();
/// assert_eq!(sign_in, SignIn::Bearer(Secret::Environment("TOKEN".to_owned())));
/// assert_eq!("header X-Api-Key file:key".parse::<SignIn>().unwrap().to_string(), "header X-Api-Key file:key");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignIn {
    /// `basic SECRET`: `user:password`, by RFC 7617.
    Basic(Secret),
    /// `bearer SECRET`: a token, by RFC 6750.
    Bearer(Secret),
    /// `header NAME SECRET`: a header of this name, whose value is the secret.
    Header(String, Secret),
    /// `none`: no sign-in, whatever a more general rule says.
    None,
}

impl FromStr for SignIn {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
        match kind {
            "basic" => Ok(Self::Basic(rest.parse()?)),
            "bearer" => Ok(Self::Bearer(rest.parse()?)),
            "header" => {
                let (name, secret) = rest.split_once(' ').ok_or(())?;
                Ok(Self::Header(name.to_owned(), secret.parse()?))
            }
            "none" if rest.is_empty() => Ok(Self::None),
            _ => Err(()),
        }
    }
}

impl fmt::Display for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Basic(secret) => write!(f, "basic {secret}"),
            Self::Bearer(secret) => write!(f, "bearer {secret}"),
            Self::Header(name, secret) => write!(f, "header {name} {secret}"),
            Self::None => f.write_str("none"),
        }
    }
}
