//! The imports among the files of a crate, resolved through re-exports, and their cycles ("circles").

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::iter::Peekable;

use crate::source::Source;

/// A path as it is written: `["super", "set", "Sighting"]`.
type Words = Vec<String>;

/// One name that a `use` declaration brings in.
struct Use {
    name: String,
    path: Words,
    /// Only re-exported: `pub use`.
    passed_on: bool,
}

/// A file as a module, or a module inside one.
struct Module {
    file: String,
    parent: Option<String>,
    uses: Vec<Use>,
    /// Other paths in the code, of two words or more.
    paths: Vec<Words>,
}

/// Which file imports from which, and through which paths.
pub(crate) struct Imports {
    /// By their paths in the crate, such as `seen::set`.
    modules: BTreeMap<String, Module>,
    edges: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

impl Imports {
    /// Unit tests are left out: they may import anything.
    pub(crate) fn of(sources: &[Source]) -> Self {
        let mut modules = BTreeMap::new();
        for source in sources {
            let (name, parent) = module(&source.path);
            let mut tokens = tokens(&source.code[..source.tests()]).into_iter().peekable();
            read(&mut tokens, &source.path, name, parent, &mut modules);
        }
        let mut imports = Self { modules, edges: BTreeMap::new() };
        for (name, module) in &imports.modules {
            let used = module.uses.iter().filter(|used| !used.passed_on).map(|used| &used.path);
            for path in used.chain(&module.paths) {
                let Some(to) = imports.resolve(name, path, 0) else { continue };
                let to = &imports.modules[&to].file;
                if *to != module.file {
                    let edges = imports.edges.entry(module.file.clone()).or_default();
                    edges.entry(to.clone()).or_default().insert(path.join("::"));
                }
            }
        }
        imports
    }

    /// The module that holds the item that a path names; `None` if the path names a module, or leads out of the crate.
    fn resolve(&self, from: &str, path: &[String], depth: u8) -> Option<String> {
        // An item with the name of its own crate would resolve for ever.
        if depth == 16 {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut here = match first.as_str() {
            "crate" => String::new(),
            "self" => from.to_owned(),
            "super" => self.modules.get(from)?.parent.clone()?,
            name => {
                let child = join(from, name);
                if !self.has(&child) || rest.is_empty() {
                    return self.resolve(from, &[self.used(from, name)?, rest].concat(), depth + 1);
                }
                child
            }
        };
        while let Some((name, after)) = rest.split_first() {
            let child = join(&here, name);
            let used = self.used(&here, name).filter(|_| after.is_empty() || !self.has(&child));
            if name == "super" {
                here = self.modules.get(&here)?.parent.clone()?;
            } else if let Some(used) = used {
                return self.resolve(&here, &[used, after].concat(), depth + 1);
            } else if self.has(&child) {
                here = child;
            } else {
                return self.has(&here).then_some(here);
            }
            rest = after;
        }
        None
    }

    /// The meaning of a name in a module, by its `use` declarations.
    fn used(&self, module: &str, name: &str) -> Option<&[String]> {
        self.modules.get(module)?.uses.iter().find(|used| used.name == name).map(|used| used.path.as_slice())
    }

    fn has(&self, module: &str) -> bool {
        self.modules.contains_key(module)
    }

    /// Sets of files that import each other, directly or through others.
    ///
    /// A parent and its own children may: a circle is allowed if it has no other import.
    pub(crate) fn circles(&self) -> Vec<BTreeSet<&str>> {
        let files = self.modules.values().map(|module| module.file.as_str());
        let reached: BTreeMap<&str, BTreeSet<&str>> = files.map(|file| (file, self.reached(file))).collect();
        let mut circles: Vec<BTreeSet<&str>> = Vec::new();
        for (&file, reach) in &reached {
            if circles.iter().any(|circle| circle.contains(file)) {
                continue;
            }
            let circle: BTreeSet<&str> = reach.iter().copied().filter(|other| reached[other].contains(file)).collect();
            let others = self.within(&circle);
            if others.iter().any(|(from, to, _)| !is_parent(from, to) && !is_parent(to, from)) {
                circles.push(circle);
            }
        }
        circles
    }

    fn reached(&self, file: &str) -> BTreeSet<&str> {
        let (mut reached, mut open) = (BTreeSet::new(), vec![file]);
        while let Some(from) = open.pop() {
            let next = self.edges.get(from).into_iter().flat_map(BTreeMap::keys).map(String::as_str);
            open.extend(next.filter(|to| reached.insert(*to)).collect::<Vec<_>>());
        }
        reached
    }

    /// The imports among some files.
    fn within<'a>(&'a self, files: &BTreeSet<&str>) -> Vec<(&'a str, &'a str, &'a BTreeSet<String>)> {
        let from = self.edges.iter().filter(|(from, _)| files.contains(from.as_str()));
        let edges =
            from.flat_map(|(from, edges)| edges.iter().map(move |(to, paths)| (from.as_str(), to.as_str(), paths)));
        edges.filter(|(_, to, _)| files.contains(to)).collect()
    }

    /// A circle, with the imports that form it.
    pub(crate) fn describe(&self, circle: &BTreeSet<&str>) -> String {
        let mut text = format!("{} files import each other:", circle.len());
        for (from, to, paths) in self.within(circle) {
            let paths = paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            write!(text, "\n    {from} -> {to}: {paths}").unwrap();
        }
        text
    }
}

/// A module's path and its parent's.
fn module(path: &str) -> (String, Option<String>) {
    let inner =
        path.strip_prefix("frontier/").unwrap_or(path).strip_prefix("src/").unwrap_or(path).trim_end_matches(".rs");
    let name = inner.strip_suffix("/mod").unwrap_or(inner).replace('/', "::");
    if ["lib", "main"].contains(&name.as_str()) {
        return (if name == "lib" { String::new() } else { name }, None);
    }
    let parent = name.rsplit_once("::").map_or("", |(parent, _)| parent).to_owned();
    (name, Some(parent))
}

fn join(parent: &str, child: &str) -> String {
    if parent.is_empty() { child.to_owned() } else { format!("{parent}::{child}") }
}

fn is_parent(parent: &str, child: &str) -> bool {
    parent.strip_suffix("mod.rs").and_then(|folder| child.strip_prefix(folder)).is_some_and(|rest| {
        let own = rest.strip_suffix("/mod.rs").unwrap_or(rest);
        !own.contains('/')
    })
}

/// Adds a module: the names that its `use` declarations bring in, and the other paths in its code, up to the `}` that
/// ends it. Modules inside it are modules of the same file.
fn read<'a>(
    tokens: &mut Peekable<impl Iterator<Item = &'a str>>,
    file: &str,
    name: String,
    parent: Option<String>,
    modules: &mut BTreeMap<String, Module>,
) {
    // Two modules of one file may have one name, each for builds without the other.
    let known = modules.remove(&name);
    let mut module =
        known.unwrap_or_else(|| Module { file: file.to_owned(), parent, uses: Vec::new(), paths: Vec::new() });
    let (mut before, mut depth) = ("", 0);
    while let Some(token) = tokens.next() {
        match token {
            "use" => {
                let tree: Vec<&str> = tokens.by_ref().take_while(|token| *token != ";").collect();
                expand(&mut tree.into_iter().peekable(), &[], &mut |name, path| {
                    module.uses.push(Use { name, path, passed_on: ["pub", ")"].contains(&before) });
                });
            }
            "mod" => {
                let inner = join(&name, tokens.next().unwrap_or_default());
                if tokens.next_if_eq(&"{").is_some() {
                    read(tokens, file, inner, Some(name.clone()), modules);
                }
            }
            "{" => depth += 1,
            "}" if depth == 0 => break,
            "}" => depth -= 1,
            token if is_word(token) => {
                let mut path = vec![token.to_owned()];
                while tokens.next_if_eq(&"::").is_some() {
                    let Some(word) = tokens.next_if(|token| is_word(token)) else { break };
                    path.push(word.to_owned());
                }
                if path.len() > 1 {
                    module.paths.push(path);
                }
            }
            _ => {}
        }
        before = token;
    }
    modules.insert(name, module);
}

/// Follows a `use` tree to its ends, up to the `,` or `}` after it.
fn expand<'a>(
    tokens: &mut Peekable<impl Iterator<Item = &'a str>>,
    before: &[String],
    found: &mut impl FnMut(String, Words),
) {
    let mut path = before.to_vec();
    let mut name = None;
    while let Some(token) = tokens.next_if(|token| *token != "," && *token != "}") {
        match token {
            "::" => {}
            "{" => {
                while tokens.peek().is_some_and(|token| *token != "}") {
                    expand(tokens, &path, found);
                    tokens.next_if_eq(&",");
                }
                tokens.next();
                return;
            }
            "as" => name = tokens.next().map(str::to_owned),
            "self" if !path.is_empty() => {}
            word => path.push(word.to_owned()),
        }
    }
    if path.len() > before.len() || path.len() > 1 {
        let name = name.unwrap_or_else(|| path.last().cloned().unwrap_or_default());
        found(name, path);
    }
}

/// Words, `::`, and other characters one by one.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        let length = if rest.starts_with("::") { 2 } else { word.max(first.len_utf8()) };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[test]
fn a_circle_is_found_however_it_is_imported() {
    let imports = |files: &[(&str, &str)]| {
        let sources: Vec<Source> = files.iter().map(|(path, text)| Source::new(path, text)).collect();
        let imports = Imports::of(&sources);
        imports.circles().iter().map(|circle| imports.describe(circle)).collect::<Vec<_>>()
    };
    let door = (
        "src/seen/mod.rs",
        "mod set;\nmod shard;\npub use set::{Set, Sighting as Sight};\npub(crate) use shard::Shard;\n",
    );
    let circle = |there: &str, back: &str| {
        [format!(
            "2 files import each other:\n    src/seen/set.rs -> src/seen/shard.rs: {there}\n    \
             src/seen/shard.rs -> src/seen/set.rs: {back}"
        )]
    };
    let of = |set, shard| imports(&[door, ("src/seen/set.rs", set), ("src/seen/shard.rs", shard)]);
    assert_eq!(
        of("use super::shard::Shard;", "fn a(set: super::set::Set) {}"),
        circle("super::shard::Shard", "super::set::Set")
    );
    // Through the floor's `mod.rs`, from either end, under another name.
    assert_eq!(of("use super::Shard;", "use crate::seen::Sight;"), circle("super::Shard", "crate::seen::Sight"));
    let (set, shard) = (
        "use crate::{\n    address::A,\n    seen::{self, shard},\n};\nfn a() { shard::a(seen::Shard::B) }",
        "use super::{Set as S};",
    );
    assert_eq!(of(set, shard), circle("seen::Shard::B, shard::a", "super::Set"));
    // Through modules inside the files, one of them inside another.
    let set = "pub use with::Set;\nmod with {\n    use super::super::shard::Shard;\n    pub struct Set;\n}\n";
    let shard = "mod with {\n    mod parts {\n        fn a(b: [u8; { 1 }]) { crate::seen::set::Set }\n    }\n}\n";
    assert_eq!(of(set, shard), circle("super::super::shard::Shard", "crate::seen::set::Set"));
    // A module that is closed says nothing about the file after it.
    let set = "mod with { fn a() {} }\nuse super::Shard;";
    assert_eq!(of(set, "use super::Sight;"), circle("super::Shard", "super::Sight"));
    // Imports in one direction only; a comment, a unit test and a re-export are not imports.
    let tests = "// super::Set\n#[cfg(test)]\nmod tests {\n    use super::super::Set;\n}\n";
    assert_eq!(of("use super::Shard;", tests), [""; 0]);
    assert_eq!(of("use super::Shard;", "\npub(in crate::seen) use super::Set;"), [""; 0]);
    assert_eq!(
        of("use super::Shard;", "use super::*; use std::io; use ahash::Set; fn a() -> io::Result<Set> {}"),
        [""; 0]
    );

    // A parent and its children may import each other; a circle of three through a parent also has an import between
    // the children.
    let parent =
        ("src/seen/mod.rs", "mod set;\nmod shard;\nuse set::Set;\npub struct Options;\nfn a() { shard::a() }\n");
    let alone = [parent, ("src/seen/set.rs", "use super::Options;"), ("src/seen/shard.rs", "use super::Options;")];
    assert_eq!(imports(&alone), [""; 0]);
    let three = [parent, ("src/seen/set.rs", "use super::shard::Shard;"), ("src/seen/shard.rs", "use super::Options;")];
    assert_eq!(imports(&three).len(), 1);
    // A folder's child is not a child of the floor itself.
    let wing = ("src/seen/wing/a.rs", "use crate::seen::Options;");
    let floor = ("src/seen/mod.rs", "mod wing;\npub struct Options;\nfn a(a: wing::A, b: wing::a::B) {}\n");
    let text = imports(&[floor, ("src/seen/wing/mod.rs", "mod a;\npub use a::A;"), wing]);
    assert_eq!(
        text,
        ["2 files import each other:\n    src/seen/mod.rs -> src/seen/wing/a.rs: wing::A, wing::a::B\n    \
          src/seen/wing/a.rs -> src/seen/mod.rs: crate::seen::Options"]
    );
}
