//! Signing a request, with the headers that it gets.

use std::hint::black_box;
use std::time::SystemTime;

use crawler::crawl::{AgentIdentity, IdentityOptions, Jwk, JwkSet};
use criterion::{Criterion, criterion_group, criterion_main};

fn sign(c: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("identity.json");
    let keys = JwkSet { keys: vec![Jwk::generate(None).expect("random numbers")] };
    std::fs::write(&file, keys.to_json()).expect("a file");
    #[cfg(unix)]
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("its mode");
    let mut options = IdentityOptions::default();
    options.key = file.to_str().and_then(|file| file.parse().ok());
    options.agent = Some("https://bot.example".to_owned());
    let identity = AgentIdentity::open(&options).expect("keys").expect("a key");
    c.bench_function("identity sign", |b| {
        b.iter(|| identity.headers(black_box("www.example.org"), SystemTime::now()).expect("a signature"));
    });
}

criterion_group!(benches, sign);
criterion_main!(benches);
