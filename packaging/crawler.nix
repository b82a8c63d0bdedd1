# `nix-build packaging/crawler.nix` in a checkout.
{ pkgs ? import <nixpkgs> { } }:

pkgs.rustPlatform.buildRustPackage {
  pname = "crawler";
  version = (builtins.fromTOML (builtins.readFile ../Cargo.toml)).workspace.package.version;
  src = pkgs.lib.cleanSource ../.;
  cargoLock.lockFile = ../Cargo.lock;
  buildType = "dist";
  buildFeatures = [ "jemalloc" ];
  nativeBuildInputs = [ pkgs.installShellFiles ];
  # They start servers, and want tools that are no part of a build.
  doCheck = false;
  postInstall = ''
    mkdir man
    $out/bin/crawler man --output man
    installManPage man/*
    for shell in bash zsh fish; do $out/bin/crawler completions $shell >crawler.$shell; done
    installShellCompletion crawler.{bash,zsh,fish}
  '';
  meta = {
    description = "Polite web crawler with a built-in URL-seen filter";
    license = with pkgs.lib.licenses; [ mit asl20 ];
    mainProgram = "crawler";
  };
}
