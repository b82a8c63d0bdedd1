//! The sign-in at a proxy.

use std::fmt;

use base64::prelude::{BASE64_STANDARD, Engine};
use http::header::HeaderValue;

use crate::crawl::http::access::Secret;

/// A user and a password. They are sent only to the proxy, and shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ProxySignIn {
    user: String,
    password: String,
}

impl ProxySignIn {
    /// Reads `user:password`.
    ///
    /// # Errors
    /// When the secret cannot be read, or is not of that form. The reason does not contain it.
    pub(super) fn read(secret: &Secret) -> Result<Self, String> {
        let text = secret.read()?;
        let (user, password) =
            text.split_once(':').ok_or_else(|| format!("{secret} is not of the form user:password"))?;
        Self::new(user.to_owned(), password.to_owned()).ok_or_else(|| format!("{secret}: {}", Self::UNFIT))
    }

    /// The reason why [`new`](Self::new) returns `None`.
    pub(super) const UNFIT: &str = "user and password have at most 255 bytes each, and no control character";

    pub(super) fn new(user: String, password: String) -> Option<Self> {
        let is_fit = |text: &str| text.len() <= 255 && !text.contains(char::is_control);
        (!user.is_empty() && is_fit(&user) && is_fit(&password)).then_some(Self { user, password })
    }

    /// The value of `Proxy-Authorization`, marked as sensitive (RFC 7617).
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let encoded = BASE64_STANDARD.encode(format!("{}:{}", self.user, self.password));
        let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// The message of RFC 1929.
    pub(super) fn socks5_message(&self) -> Vec<u8> {
        let mut message = vec![1];
        for text in [&self.user, &self.password] {
            // Both lengths fit in one byte.
            message.push(u8::try_from(text.len()).unwrap_or(u8::MAX));
            message.extend(text.as_bytes());
        }
        message
    }
}

impl fmt::Debug for ProxySignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxySignIn")
    }
}
