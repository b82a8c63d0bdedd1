//! The crate in figures, per floor: lines, files, public items, import cycles ("circles").
//!
//! `cargo test --test floors -- --ignored --nocapture figures` prints them; with `CRAWLER_TREE=...` before it, those of
//! another checkout.

use std::collections::BTreeMap;

use crate::imports::Imports;
use crate::source::Source;

#[derive(Default)]
struct Figures {
    files: u32,
    code: u32,
    docs: u32,
    unit_tests: u32,
    /// Types, functions, constants and modules with a bare `pub`, methods too.
    public: u32,
    circles: usize,
    /// Files in circles.
    circling: usize,
}

impl Figures {
    fn add(&mut self, source: &Source) {
        self.files += 1;
        let tests = source.tests();
        for (line, code) in source.text[..tests].lines().zip(source.code[..tests].lines()) {
            let is_code = !code.trim().is_empty();
            self.code += u32::from(is_code);
            self.docs += u32::from(!is_code && line.trim_start().starts_with("//"));
            self.public += u32::from(is_public(code));
        }
        self.unit_tests += source.text[tests..].lines().map(|line| u32::from(!line.trim().is_empty())).sum::<u32>();
    }

    fn print(&self, name: &str) {
        let Self { files, code, docs, unit_tests, public, circles, circling } = self;
        let share = f64::from(*docs) / f64::from(*code).max(1.0);
        println!(
            "| {name} | {files} | {code} | {docs} | {share:.2} | {unit_tests} | {public} | {circles} ({circling}) |"
        );
    }
}

fn is_public(code: &str) -> bool {
    let Some(item) = code.trim_start().strip_prefix("pub ") else { return false };
    let mut words = item.split([' ', ';', '(']).skip_while(|word| ["async", "unsafe"].contains(word));
    let kinds = ["const", "enum", "fn", "mod", "static", "struct", "trait", "type"];
    words.next().is_some_and(|word| kinds.contains(&word))
}

#[test]
#[ignore = "prints figures and proves nothing"]
fn figures() {
    let sources = Source::all();
    let (mut floors, mut all) = (BTreeMap::<&str, Figures>::new(), Figures::default());
    for source in &sources {
        floors.entry(source.floor().unwrap_or("(the crate)")).or_default().add(source);
        all.add(source);
    }
    for circle in Imports::of(&sources).circles() {
        let floor = circle.first().and_then(|file| file.split("src/").nth(1)?.split('/').next()).unwrap();
        for figures in [floors.get_mut(floor).unwrap(), &mut all] {
            figures.circles += 1;
            figures.circling += circle.len();
        }
    }
    println!("| | files | code | docs | docs a code line | unit tests | public items | circles (files in them) |");
    println!("|---|---|---|---|---|---|---|---|");
    for (name, figures) in &floors {
        figures.print(name);
    }
    all.print("both crates");
    for folder in ["tests", "benches", "examples"] {
        let mut figures = Figures::default();
        for source in &Source::below(folder) {
            figures.add(source);
        }
        figures.print(folder);
    }
}
