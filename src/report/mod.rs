//! The crawl in numbers, for people and for programs.
