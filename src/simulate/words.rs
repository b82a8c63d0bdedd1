//! What the world's names and texts are made of. The first letters and the order are part of each world: append only.

/// First directory of a path.
pub(super) const SECTIONS: [&str; 20] = [
    "about", "archive", "articles", "blog", "catalog", "docs", "events", "forum", "gallery", "guides", "help", "jobs",
    "library", "news", "products", "projects", "reviews", "support", "topics", "wiki",
];

/// Slugs, host names and running text; letters only, so that a digit in a path is always a page's label.
pub(super) const WORDS: [&str; 64] = [
    "amber", "anchor", "autumn", "bamboo", "basalt", "beacon", "birch", "border", "bridge", "canyon", "carbon",
    "cedar", "cinder", "cobalt", "copper", "coral", "cotton", "delta", "desert", "ember", "fabric", "falcon", "fathom",
    "ferry", "forest", "garden", "glacier", "granite", "harbor", "hazel", "heron", "indigo", "island", "ivory",
    "jasper", "juniper", "lantern", "linen", "maple", "marble", "meadow", "mirror", "needle", "nickel", "oasis",
    "ocean", "orchard", "otter", "paper", "pebble", "pepper", "quartz", "raven", "ribbon", "river", "saddle", "salmon",
    "silver", "spruce", "summit", "timber", "velvet", "violet", "willow",
];

/// Beyond ASCII, within Latin-1: for titles, so that a wrong charset shows.
pub(super) const ACCENTED: [&str; 8] =
    ["café", "déjà vu", "Größe", "jalapeño", "Übersicht", "smörgås", "façade", "Ærø"];

/// First labels of host names, as people write them and as they are resolved.
pub(super) const SUBDOMAINS: [(&str, &str); 10] = [
    ("www", "www"),
    ("www", "www"),
    ("www", "www"),
    ("blog", "blog"),
    ("docs", "docs"),
    ("en", "en"),
    ("shop", "shop"),
    ("bücher", "xn--bcher-kva"),
    ("café", "xn--caf-dma"),
    ("münchen", "xn--mnchen-3ya"),
];
