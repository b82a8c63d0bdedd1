//! Settings of a crawl on many machines.

use crate::cli::field::{Choice, Many, Maybe, One};
use crate::cli::setting::{Setting, setting, value};

/// Whether a URL's partition is chosen by its registrable domain.
const PARTITION_BY: &[(&str, bool)] = &[("host", false), ("domain", true)];

pub(super) static ROWS: &[Setting] = &[
    setting!(Many, "cluster.servers" => cluster.servers,
        "NATS servers that carry one crawl on many machines: nats://HOST:PORT, tls:// for TLS; all of one cluster")
    .flags(&[value("cluster", "URL[,URL...]")
        .says("Crawl together with other machines, over these NATS servers")
        .rare()]),
    setting!(Maybe, "cluster.dev" => cluster.dev,
        "Crawl with so many nodes on this machine, over three nats-server that are started for it, to try it", "none")
    .flags(&[value("dev-cluster", "N").rare()]),
    setting!(One, "cluster.name" => cluster.name, "The name of that crawl: letters, digits, - and _").flags(&[value(
        "cluster-name",
        "NAME",
    )
    .rare()]),
    setting!(One, "cluster.partitions" => cluster.partitions,
        "Parts that its hosts are shared out over, up to 1,024; fixed when it begins"),
    setting!(Choice, "cluster.partition_by" => cluster.by_domain,
        "What of a URL says which part it is in: host, or domain (all hosts of a site together)", PARTITION_BY)
    .flags(&[value("partition-by", "WHAT").rare()]),
    setting!(One, "cluster.lease" => cluster.lease,
        "A machine that says nothing for so long is taken for dead; longer than the servers need to elect another leader"),
    setting!(Maybe, "cluster.sign_in" => cluster.sign_in,
        "What the servers know us by, env:VARIABLE or file:PATH: user:password, a token, an nkey's seed, or a credentials file",
        "none"),
    setting!(Maybe, "cluster.ca_file" => cluster.ca_file,
        "Certificates to trust the servers by beside the system's, as PEM", "none"),
    setting!(Maybe, "cluster.certificate" => cluster.certificate, "Our certificate for the servers, as PEM", "none"),
    setting!(Maybe, "cluster.key" => cluster.key, "The key of that certificate, as PEM", "none"),
];
