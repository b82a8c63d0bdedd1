//! The crawl's client in one process with an embedder's own, and with whatever cryptography the embedder has installed, or not.
#![cfg(feature = "crawl")]

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, mpsc};
use std::thread;

use crawler::crawl::{FetchOptions, Fetcher};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi";

/// Reads up to the end of a request's head.
fn request(stream: &mut impl Read) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        head.push(byte[0]);
    }
}

/// A server on loopback that answers each connection as it is told to.
fn serve(answer: impl Fn(std::net::TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap())));
    address
}

fn plain() -> SocketAddr {
    serve(|mut stream| {
        request(&mut stream);
        let _ = stream.write_all(ANSWER);
    })
}

/// With a certificate that nobody knows.
fn encrypted() -> SocketAddr {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let config = Arc::new(config);
    serve(move |mut stream| {
        let mut server = ServerConnection::new(Arc::clone(&config)).unwrap();
        // The client takes the handshake so far that it has seen the certificate.
        let _ = rustls::Stream::new(&mut server, &mut stream).read(&mut [0]);
    })
}

/// Ours, over both schemes: TLS goes so far that the certificate is looked at, and refused.
async fn ours_works() {
    let mut options = FetchOptions::default();
    options.allow_private_addresses = true;
    let fetcher = Fetcher::new(&options).unwrap();
    assert_eq!(fetcher.fetch(&format!("http://{}/", plain())).await.unwrap().body, b"hi");
    let error = fetcher.fetch(&format!("https://{}/", encrypted())).await.unwrap_err();
    assert!(error.message.contains("invalid peer certificate"), "{error}");
}

/// Features are one for a whole build: with ours, theirs has TLS, and looks for a provider.
#[tokio::test]
async fn an_embedders_reqwest_works_beside_the_crawls_client() {
    if std::env::var_os("WITH_A_PROVIDER").is_some() {
        return;
    }
    let theirs = reqwest::Client::builder().no_proxy().build().unwrap();
    ours_works().await;
    let answer = theirs.get(format!("http://{}/", plain())).send().await.unwrap();
    assert_eq!(answer.bytes().await.unwrap(), "hi");
    // So does one made behind ours, by the call that panics where it fails.
    drop(reqwest::Client::new());
    assert!(CryptoProvider::get_default().is_none(), "nothing was installed for the process");
}

/// In a process of its own: what is installed stays.
#[tokio::test]
async fn the_processes_own_provider_is_neither_used_nor_changed() {
    let name = "the_processes_own_provider_is_neither_used_nor_changed";
    if std::env::var_os("WITH_A_PROVIDER").is_none() {
        let this = std::env::current_exe().unwrap();
        let output = Command::new(this).args([name, "--exact"]).env("WITH_A_PROVIDER", "").output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    // With it, no handshake can be made.
    let useless = CryptoProvider { cipher_suites: Vec::new(), kx_groups: Vec::new(), ..aws_lc_rs::default_provider() };
    useless.install_default().unwrap();
    ours_works().await;
    assert!(CryptoProvider::get_default().unwrap().cipher_suites.is_empty());
}

/// What an embedder's project may have beside this crate, with what it takes of ours and does first: features are one for a whole build.
const MIXES: [(&str, &str, &str, &str); 4] = [
    ("mix-bare", r#"reqwest = { version = "0.13", default-features = false }"#, "crawl", ""),
    ("mix-aws-lc", r#"reqwest = { version = "0.13", default-features = false, features = ["rustls"] }"#, "reqwest", ""),
    (
        "mix-ring",
        r#"reqwest = { version = "0.13", default-features = false, features = ["rustls-no-provider"] }
rustls = { version = "0.23", default-features = false, features = ["ring", "std", "tls12"] }"#,
        "reqwest",
        "rustls::crypto::ring::default_provider().install_default().unwrap();",
    ),
    (
        "mix-both",
        r#"reqwest = { version = "0.13", default-features = false, features = ["rustls"] }
rustls = { version = "0.23", features = ["ring"] }"#,
        "reqwest",
        "",
    ),
];

/// Builds what [`MIXES`] has and runs it: nothing panics, no provider is installed or changed, and our client greets servers alike in each.
#[test]
#[ignore = "builds four projects, which takes minutes; .ci/run asks for it"]
fn four_mixes_of_cryptography_neither_panic_nor_change() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let workspace = target.join("mixes");
    fs::create_dir_all(&workspace).unwrap();
    // The profile is ours, so that what both depend on is not built again; the two packages are built for these alone.
    let manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[profile.dev]\nopt-level = 1\nlto = \"off\"\n\
                    debug = \"line-tables-only\"\n\n[profile.dev.package]\ncrawler-cli.opt-level = 0\n\
                    crawler-frontier.opt-level = 0\n";
    fs::write(workspace.join("Cargo.toml"), manifest).unwrap();
    fs::copy(ours.join("Cargo.lock"), workspace.join("Cargo.lock")).unwrap();
    for (name, beside, feature, first) in MIXES {
        let project = workspace.join(name);
        fs::create_dir_all(project.join("src")).unwrap();
        let rustls = if beside.contains("rustls = {") {
            ""
        } else {
            "rustls = { version = \"0.23\", default-features = false }"
        };
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{beside}\n{rustls}\n\
             crawler-cli = {{ path = {ours:?}, default-features = false, features = [\"{feature}\"] }}\n\
             tokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n"
        );
        fs::write(project.join("Cargo.toml"), manifest).unwrap();
        let main = include_str!("mixes/program.rs").replace("// First.", first);
        fs::write(project.join("src/main.rs"), main).unwrap();
    }
    let (greets, greetings) = mpsc::channel();
    let greeted = serve(move |mut stream| {
        let mut record = [0; 5];
        let _ = stream.read_exact(&mut record);
        let _ = greets.send(u16::from_be_bytes([record[3], record[4]]));
    });
    let addresses = [plain(), encrypted(), greeted].map(|address| address.to_string());
    let lengths: BTreeSet<u16> = MIXES
        .iter()
        .map(|(name, ..)| {
            let mut command = Command::new(env!("CARGO"));
            command.args(["run", "--quiet", "-p", name, "--"]).args(&addresses).current_dir(&workspace);
            // A reqwest without TLS wants no certificates, so it must go without them here, too.
            if *name == "mix-bare" {
                command.env("SSL_CERT_FILE", "/dev/null");
            }
            let output = command.env("CARGO_TARGET_DIR", target.parent().unwrap()).output().unwrap();
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            greetings.recv().unwrap()
        })
        .collect();
    assert_eq!(lengths.len(), 1, "bytes of our greetings: {lengths:?}");
}
