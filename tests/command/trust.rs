//! The client's trust and its own certificate: further authorities, client certificates, and hosts that are not verified.

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crawler::crawl::{FetchError, FetchOptions, Fetcher, HostAccess};
use crawler::frontier::Failure;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

use crate::both;
use crate::ran::{Ran, crawler};
use crate::visitors;

/// A file of the tests' certificates. `ecdsa.pem` and `rsa.pem` are signed by the authorities of their names, for site.test and 127.0.0.1;
/// `wildcard.pem` is for `*.site.test`, and `client.pem` for visitors.
pub(crate) fn pem(name: &str) -> PathBuf {
    let is_of_tests = name.starts_with("client") || name.starts_with("wildcard");
    let directory = if is_of_tests { "tests/tls" } else { "benches/tls" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join(directory).join(name)
}

/// A host over TLS, which answers with the number of client certificates it got. With `wants`, it requires one by this authority.
fn serve(wants: Option<&str>) -> SocketAddr {
    serve_as("ecdsa", wants)
}

fn serve_as(name: &str, wants: Option<&str>) -> SocketAddr {
    serve_tls(name, wants, |_, shown| {
        let head = "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 1\r\nConnection: close";
        format!("{head}\r\n\r\n{shown}").into_bytes()
    })
}

/// A host over TLS by a certificate of the tests. It answers by the request's head, and by how many client certificates it got.
pub(crate) fn serve_tls(
    name: &str,
    wants: Option<&str>,
    answer: impl Fn(&[u8], usize) -> Vec<u8> + Send + Sync + 'static,
) -> SocketAddr {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let certificate = |name: &str| CertificateDer::from_pem_file(pem(name)).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = match wants {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(certificate(authority)).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.with_client_cert_verifier(verifier)
        }
    };
    let key = PrivateKeyDer::from_pem_file(pem(&format!("{name}-key.pem"))).unwrap();
    let config = Arc::new(builder.with_single_cert(vec![certificate(&format!("{name}.pem"))], key).unwrap());
    visitors::serve(move |stream| {
        let mut tls = StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream);
        let request = visitors::request(&mut tls);
        let shown = tls.conn.peer_certificates().map_or(0, <[_]>::len);
        let _ = tls.write_all(&answer(&request, shown));
        let _ = tls.flush();
    })
}

/// A client's result for a host, by one of its names: the body, or the failure.
async fn fetched(address: SocketAddr, host: &str, change: impl FnOnce(&mut FetchOptions)) -> Result<Vec<u8>, Failure> {
    told(address, host, change).await.map_err(|error| error.failure)
}

async fn told(address: SocketAddr, host: &str, change: impl FnOnce(&mut FetchOptions)) -> Result<Vec<u8>, FetchError> {
    let mut options = FetchOptions::default();
    options.client = both::client();
    options.allow_private_addresses = true;
    options.resolve_all_to = Some(address);
    change(&mut options);
    let fetched = Fetcher::new(&options).unwrap().fetch(&format!("https://{host}:{}/", address.port())).await;
    fetched.map(|response| response.body)
}

#[tokio::test]
async fn further_authorities_are_trusted_and_nobody_else() {
    let address = serve(None);
    let with = |name: &str| {
        let file = pem(name);
        move |options: &mut FetchOptions| options.ca_files = vec![file]
    };
    assert_eq!(fetched(address, "site.test", |_| {}).await, Err(Failure::Tls));
    assert_eq!(fetched(address, "site.test", with("ecdsa-authority.pem")).await, Ok(b"0".to_vec()));
    assert_eq!(fetched(address, "site.test", with("rsa-authority.pem")).await, Err(Failure::Tls), "another's");
    assert_eq!(fetched(address, "other.test", with("ecdsa-authority.pem")).await, Err(Failure::Tls), "another name");
}

/// On a machine without certificates of authorities the error says what to do, no host is asked twice, and `--ca-file` alone is enough.
#[test]
fn without_certificates_of_authorities_the_error_says_so() {
    let site = format!("https://{}/", serve(None));
    for client in ["direct", "reqwest"] {
        let place = TempDir::new().unwrap();
        let run = |job: &str, further: &[&str]| -> Ran {
            let options = [
                "--client",
                client,
                "--allow-private-addresses",
                "--no-robots",
                "--no-sitemaps",
                "--host-delay=1ms",
                "-q",
            ];
            let mut command = crawler(&place, [&site, "--job", job]);
            command.args(options).args(further);
            command.envs([("SSL_CERT_FILE", "/nowhere"), ("SSL_CERT_DIR", "/nowhere")]).output().unwrap().into()
        };
        let (words, file) = ("this machine has no certificates of authorities", pem("ecdsa-authority.pem"));
        let without = run("without", &[]);
        assert_eq!(without.code, Some(3), "{client}: {}", without.err);
        let error = without.err.lines().find(|line| line.starts_with("crawler: error: ")).unwrap();
        assert!(error.contains(words) && error.contains("ca-certificates") && error.contains("--ca-file"), "{error}");
        assert!(error.contains("1 failed: no_authorities"), "{error}");
        let explained: Ran = crawler(&place, ["explain", &site, "--job", "without"]).output().unwrap().into();
        assert!(explained.out.contains("failed once in a row: this machine"), "{client}: {}", explained.out);
        let with = run("with", &["--ca-file", file.to_str().unwrap()]);
        assert!(with.code == Some(0) && !with.err.contains(words), "{client}: {}", with.err);
    }
}

/// Sites have such names below their wildcards, and no certificate names one of them.
#[tokio::test]
async fn a_name_that_begins_or_ends_with_a_hyphen_is_good_by_a_wildcard() {
    let (by_wildcard, by_name) = (serve_as("wildcard", None), serve(None));
    let trusts = |file: &str| {
        let file = pem(file);
        move |options: &mut FetchOptions| options.ca_files = vec![file]
    };
    let theirs = || trusts("wildcard-authority.pem");
    for name in ["a.site.test", "-a.site.test", "a-.site.test", "-.site.test", "a--.site.test"] {
        assert_eq!(fetched(by_wildcard, name, theirs()).await, Ok(b"0".to_vec()), "{name}");
        assert_eq!(fetched(by_wildcard, name, |_| {}).await, Err(Failure::Tls), "{name}: nobody's authority");
    }
    for (address, name, authority, words) in [
        (
            by_name,
            "-a.site.test",
            "ecdsa-authority.pem",
            "only a wildcard certificate can be valid for a name that begins like this",
        ),
        (
            by_wildcard,
            "-a.b.site.test",
            "wildcard-authority.pem",
            "only a wildcard certificate can be valid for a name",
        ),
        (by_wildcard, "-a.other.test", "wildcard-authority.pem", "only a wildcard certificate can be valid for a name"),
        (by_wildcard, "a.-b.site.test", "wildcard-authority.pem", "no certificate can be for this name"),
        (by_wildcard, "a.b-.site.test", "wildcard-authority.pem", "no certificate can be for this name"),
    ] {
        let error = told(address, name, trusts(authority)).await.unwrap_err();
        assert!(error.failure == Failure::Tls && error.message.contains(words), "{name}: {error}");
    }
    assert_eq!(fetched(by_name, "-a.site.test", |options| options.insecure = true).await, Ok(b"0".to_vec()));
}

#[tokio::test]
async fn a_host_is_insecure_where_its_rule_or_all_say_so() {
    let address = serve(None);
    let rule = |name: &str, insecure| {
        let name = name.to_owned();
        move |options: &mut FetchOptions| {
            let access = HostAccess { insecure: Some(insecure), ..HostAccess::default() };
            options.access.hosts.insert(name, access);
        }
    };
    assert_eq!(fetched(address, "a.test", rule("a.test", true)).await, Ok(b"0".to_vec()));
    assert_eq!(fetched(address, "www.a.test", rule("a.test", true)).await, Err(Failure::Tls));
    assert_eq!(fetched(address, "www.a.test", rule("*.a.test", true)).await, Ok(b"0".to_vec()));
    assert_eq!(fetched(address, "a.test", |options| options.insecure = true).await, Ok(b"0".to_vec()));
    let strict = rule("a.test", false);
    let but_one = |options: &mut FetchOptions| {
        options.insecure = true;
        strict(options);
    };
    assert_eq!(fetched(address, "a.test", but_one).await, Err(Failure::Tls));
}

#[tokio::test]
async fn a_certificate_is_shown_to_the_hosts_of_its_rule_alone() {
    let (wanting, taking) = (serve(Some("client-authority.pem")), serve(None));
    let ours = |options: &mut FetchOptions| {
        options.ca_files = vec![pem("ecdsa-authority.pem")];
        let access = HostAccess {
            client_certificate: Some(pem("client.pem")),
            client_key: Some(pem("client-key.pem")),
            ..HostAccess::default()
        };
        options.access.hosts.insert("site.test".to_owned(), access);
    };
    assert_eq!(fetched(wanting, "site.test", ours).await, Ok(b"1".to_vec()));
    assert_eq!(fetched(taking, "site.test", ours).await, Ok(b"0".to_vec()), "it does not want one");
    // The same host by another name has no rule.
    let refused = fetched(wanting, "127.0.0.1", ours).await.unwrap_err();
    assert!(matches!(refused, Failure::Tls | Failure::Incomplete), "{refused}");
}

#[test]
fn files_that_are_no_certificates_are_refused_by_their_names() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("empty.pem"), "nothing\n").unwrap();
    fs::write(place.path().join("broken.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        .unwrap();
    let locked = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    fs::write(place.path().join("locked.pem"), locked).unwrap();
    let refused = |settings: &str, words: &str| {
        fs::write(place.path().join("crawler.toml"), settings).unwrap();
        let mut command = crawler(&place, ["https://site.test/", "--job", "never"]);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        assert!(ran.out.is_empty() && ran.err.contains(words), "{words} is not in {}", ran.err);
    };
    let rule = |certificate: &Path, key: &Path| {
        format!("[hosts.\"site.test\"]\nclient_certificate = {certificate:?}\nclient_key = {key:?}\n")
    };
    let [ecdsa, rsa_key] = [pem("ecdsa.pem"), pem("rsa-key.pem")];
    refused("fetch.ca_files = [\"gone.pem\"]", "fetch.ca_files: gone.pem: No such file");
    refused("fetch.ca_files = [\"empty.pem\"]", "fetch.ca_files: empty.pem: no PEM certificate in it");
    refused("fetch.ca_files = [\"broken.pem\"]", "fetch.ca_files: broken.pem: a certificate in it is invalid");
    let of_rule = "hosts.\"site.test\".client_certificate: ";
    refused(&rule(&ecdsa, &rsa_key), &format!("{of_rule}the key in {}", rsa_key.display()));
    refused(&rule(&ecdsa, &ecdsa), &format!("{of_rule}{}: no private key in it", ecdsa.display()));
    refused(&rule(&ecdsa, Path::new("locked.pem")), "locked.pem: the key in it is encrypted");
    refused(&rule(Path::new("gone.pem"), &rsa_key), &format!("{of_rule}gone.pem: No such file"));
    let alone = format!("[hosts.\"site.test\"]\nclient_key = {rsa_key:?}\n");
    refused(&alone, "crawler.toml:2:14: hosts.\"site.test\".client_key: there is no client_certificate beside it");
}

crate::both::and_over_reqwest! {
    "a_name_that_begins_or_ends_with_a_hyphen_is_good_by_a_wildcard":
        "asks hosts whose first label begins or ends with a hyphen over TLS",
}
