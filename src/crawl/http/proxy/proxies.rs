//! Chooses the proxy for each URL.

use std::sync::Arc;
use std::time::Instant;

use super::address::ProxyChoice;
use super::bypass::Bypass;
use super::environment::{EnvironmentProxies, NamedProxy};
use super::proxy::Proxy;
use super::sign_in::ProxySignIn;
use crate::address::CanonicalUrl;
use crate::crawl::FetchOptions;
use crate::crawl::http::access::AccessError;
use crate::crawl::http::tls::Tls;

/// Chooses the proxy for each URL.
#[derive(Debug, Default)]
pub(in crate::crawl::http) struct Proxies {
    http: Option<Arc<Proxy>>,
    https: Option<Arc<Proxy>>,
    /// From the options, and from the environment.
    bypass: [Bypass; 2],
}

impl Proxies {
    /// Reads the options, and the environment if they say so.
    ///
    /// # Errors
    /// When a text does not name a proxy, or a secret cannot be read.
    pub(in crate::crawl::http) fn new(options: &FetchOptions, tls: &Tls, lookups: usize) -> Result<Self, AccessError> {
        let of_options = bypass_of(options)?;
        let (http, https, of_environment) = match &options.proxy {
            None => return Ok(Self::default()),
            Some(ProxyChoice::At(address)) => {
                let named = Some((address.clone(), None));
                (named.clone(), named, Bypass::default())
            }
            Some(ProxyChoice::Environment) => {
                let read = EnvironmentProxies::read(|name| std::env::var(name).ok());
                let EnvironmentProxies { http, https, bypass } =
                    read.map_err(|reason| AccessError::of_option("proxy", reason))?;
                (http, https, bypass)
            }
        };
        let sign_in = options.proxy_sign_in.as_ref().map(ProxySignIn::read).transpose();
        let sign_in = sign_in.map_err(|reason| AccessError::of_option("proxy_sign_in", reason))?;
        for (address, _) in [&http, &https].into_iter().flatten() {
            if address.resolves_names() {
                check_networks(options)?;
            }
        }
        let make = |(address, own): NamedProxy| {
            let made = Proxy::new(address, own.or_else(|| sign_in.clone()), options, tls, lookups);
            made.map(Arc::new).map_err(|error| AccessError::of_option("proxy", error.to_string()))
        };
        let is_one = http == https;
        let http = http.map(make).transpose()?;
        let https = if is_one { http.clone() } else { https.map(make).transpose()? };
        Ok(Self { http, https, bypass: [of_options, of_environment] })
    }

    /// Checks the options. Reads no secret and no environment.
    pub(in crate::crawl::http) fn check(options: &FetchOptions) -> Result<(), AccessError> {
        bypass_of(options)?;
        if let Some(ProxyChoice::At(address)) = &options.proxy
            && address.resolves_names()
        {
            check_networks(options)?;
        }
        Ok(())
    }

    /// The proxy for this URL, if there is one.
    pub(in crate::crawl::http) fn of(&self, url: &CanonicalUrl) -> Option<&Proxy> {
        let proxy = if url.origin().starts_with("https:") { &self.https } else { &self.http };
        let proxy = proxy.as_deref()?;
        (!self.bypass.iter().any(|bypass| bypass.has(url.host()))).then_some(proxy)
    }

    /// Whether one of them has failed for good.
    pub(in crate::crawl::http) fn are_lost(&self) -> bool {
        [&self.http, &self.https].into_iter().flatten().any(|proxy| proxy.standing().is_lost(Instant::now()))
    }
}

fn bypass_of(options: &FetchOptions) -> Result<Bypass, AccessError> {
    let bypass = Bypass::of(options.no_proxy.iter().map(String::as_str));
    bypass.map_err(|reason| AccessError::of_option("no_proxy", reason))
}

/// Denied networks cannot be enforced if a proxy resolves names.
fn check_networks(options: &FetchOptions) -> Result<(), AccessError> {
    if options.deny_networks.is_empty() {
        return Ok(());
    }
    let reason = "the proxy resolves names, so nobody here knows whether their addresses are denied: a socks5:// proxy is told \
                  addresses, or let the proxy deny them";
    Err(AccessError::of_option("deny_networks", reason))
}
