"""Fetch the documentation that relevance is fitted to: packages in a table, each with version, licence and checksum."""

import hashlib
import html
import io
import json
import os
import re
import sys
import tarfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from typing import NamedTuple

INDEX = "https://pypi.org/simple"
TIMEOUT = 120  # seconds for one package
LONGEST = 600_000  # characters of a page: what is longer is a generated list
ENDINGS = (".rst", ".md", ".txt")
PLACES = ("doc", "faq", "changelog", "readme")  # one of them stands in the path of what is kept
UNFIT = ("/test", "license", "about_tmux")  # the last is part of a book: CC-BY-NC-ND

Pages = dict[str, str]  # text by path in the archive


class Source(NamedTuple):
    """A source distribution on PyPI: its licence, and its SHA-256."""

    name: str
    version: str
    licence: str
    checksum: str

    @property
    def kept_as(self) -> str:
        return f"{self.name}-{self.version}.json"


def fetch(folder: str) -> dict[str, Pages]:
    """Return the pages of every package, by its name; download what is missing in `folder`. The archives are not kept."""
    os.makedirs(folder, exist_ok=True)
    found = {}
    for source in SOURCES:
        path = os.path.join(folder, source.kept_as)
        if not os.path.exists(path):
            print(f"fetch {source.name} {source.version}", flush=True)
            with open(path + ".part", "w", encoding="utf-8") as file:
                json.dump(pages(_download(source)), file)
            os.replace(path + ".part", path)
        with open(path, encoding="utf-8") as file:
            found[source.name] = json.load(file)
    return found


def _download(source: Source) -> bytes:
    """Return the archive that has the checksum, wherever the index says that it lies."""
    page = f"{INDEX}/{source.name.lower().replace('_', '-')}/"  # PEP 503
    try:
        listed = re.search(rf'href="([^"#]+)#sha256={source.checksum}"', _read(page).decode())
        if listed is None:
            sys.exit(f"{page}: no file has the checksum {source.checksum}")
        data = _read(urllib.parse.urljoin(page, html.unescape(listed[1])))
    except urllib.error.URLError as error:
        sys.exit(f"{source.name} {source.version} can not be fetched from {INDEX}: {error}")
    if hashlib.sha256(data).hexdigest() != source.checksum:
        sys.exit(f"{source.name} {source.version}: another content than expected")
    return data


def _read(address: str) -> bytes:
    with urllib.request.urlopen(address, timeout=TIMEOUT) as answer:
        data: bytes = answer.read()
    return data


def pages(archive: bytes) -> Pages:
    """Return the documentation in a source distribution: texts of which the path says that they are."""
    found = {}
    for name, content in _members(archive):
        text = content.decode("utf-8", "replace")
        if len(text) < LONGEST:
            found[name] = text
    return found


def _members(archive: bytes) -> Iterator[tuple[str, bytes]]:
    if archive.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(archive)) as packed:
            for name in packed.namelist():
                if _is_documentation(name):
                    yield name, packed.read(name)
        return
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            if member.isfile() and _is_documentation(member.name) and (opened := tar.extractfile(member)):
                yield member.name, opened.read()


def _is_documentation(path: str) -> bool:
    path = path.lower()
    is_there = path.endswith(ENDINGS) and any(place in path for place in PLACES)
    return is_there and not any(part in path for part in UNFIT)


SOURCES = [
    Source(*line.split(" | "))
    for line in """\
aiohttp | 3.14.5 | Apache-2.0 AND MIT | 5558a7f5a05af9ecf744af91e5baefc436f93c9333e656c27ec253f9a6bbe178
apscheduler | 3.11.3 | MIT | cd2fcc9330039a81a5893472ad49facf23a6d5604cbe1d918c835c6de7834d5a
astropy | 8.0.2 | BSD-3-Clause | e6af35823099ad6a40b57dbe5ff845f577374ea131925c9fa4b49eeab06c5310
attrs | 26.1.0 | MIT | d03ceb89cb322a8fd706d4fb91940737b6642aa36998fe130a9bc96c985eff32
beets | 2.14.1 | MIT | b25dc7bf8ed093d8b6e043e88013736902c1082c958b81a598af5db5275539a5
black | 26.10.1 | MIT | 5f9f83beae62437e060dafd53d7f1fc327e3d3494f74d72ee5c2b73eb90fc4e7
borgmatic | 2.1.10 | GPL-3.0-or-later | cb98f1d893d5586fed43ece8bf6c75477b6892c536e7a5a2eaad189fe00d1541
briefcase | 0.4.7 | BSD-3-Clause | a9ea1c5e7603eba82c22a51694077a6b96e3335756dee61a994ad64e091372c3
catboost | 1.2.10 | Apache-2.0 | 26ae6d423acaf0e9d8160f2477a990431057ed04522d993c2f42dac62743b4f7
celery | 5.7.0 | BSD-3-Clause, manual CC-BY-SA-4.0 | 6a5dfcf6662287204f009a02002b9e66c83d4105e47ebabdc7079108772fc6f0
click | 8.5.1 | BSD-3-Clause | 9bbfada76703fd1d784b83eea012e3e8c6a001a876543ef104fa56aaaeb072b4
copier | 9.19.1 | MIT | 3fe48c38a290c90dfa67cfc7811bc3f576c03f59d3a1e6a09a8d46c2f0403988
coverage | 7.17.3 | Apache-2.0 | 6695d1bb2a9a2fbd7806d69d78cf30f35eb0f65045da0ec5b5045242fadd6a78
cryptography | 50.0.2 | Apache-2.0 OR BSD-3-Clause | 7b46165bb56eb4704e2eaaf86f3c940d19154535d9b0ca7d6d590b04060e00d5
cx_Freeze | 8.7.3 | PSF-2.0 | 3503dcb6f58620073ef96afe9e70f564a63326504c86705fec19b41bdc721211
cython | 3.3.1 | Apache-2.0 | e0e45989e821bef6aa9ae15c7d583ab5e055f7406c4b3624e49e06d24e90375a
dask | 2026.8.0 | BSD-3-Clause | 8a94c37b5de6d869343340dc26c3c3acca7ec48a3abdabe00ea3abb1125884d5
django | 6.1.3 | BSD-3-Clause | b5d2d9e35295065d13b1927b3f19a59bd119f737aa6299def14ccca1ae3c8c0d
django-allauth | 65.21.1 | MIT | 128344e260a22b62796747be0a2249ad9488a509c1aa34ab35e3fcf22862dd9e
django-filter | 26.2 | BSD-3-Clause | fd5cc83995fbe9f5f07fb5dcda16fde0f04de1ecf8ef82628b6c0ec921b751af
docutils | 0.23 | Public-Domain, BSD-2-Clause, parts GPL | 746f5060322511280a1e50eb76846ed6bf2342984b2ac04dc42caa1a8d78799e
fabric | 3.2.3 | BSD-2-Clause | dcbd2c47ad87688facaef5cc11aab6d1ec9ed05645fed97a5de7204d5d17cc44
falcon | 4.4.0 | Apache-2.0 | 9f3ffbddc8baed4573295642eddb18a37eea37baba9f20c5be379c8b3d3d79e6
glances | 4.5.8 | LGPL-3.0-only | a1e5ed5a6488964a576d550a420c91af6f2c7c2d8df8e9fbe67c98eb38bacf3b
gunicorn | 27.0.1 | MIT | b1514965361c8b7e8107a80aa2a92636878df1ccfac6dd204a676426e04d9e3e
h5py | 3.16.0 | BSD-3-Clause | a0dbaad796840ccaa67a4c144a0d0c8080073c34c76d5a6941d6818678ef2738
hatch | 1.18.2 | MIT | 7f365f1a5b8f1a8162813daed9bf9fce83f15dc933fc99c6d04cbb942e64f4d0
invoke | 3.0.3 | BSD-2-Clause | 437b6a622223824380bfb4e64f612711a6b648c795f565efc8625af66fb57f0c
ipython | 9.18.1 | BSD-3-Clause | 6319c0f5372c196397899479e6db1783dd7937abae06815d1317e8d5d51aaaaf
jinja2 | 3.1.6 | BSD-3-Clause | 0137fb05990d35f1275a587e9aee6d56da821fc83491a0fb838183be43f66d6d
jupyterlab | 4.6.6 | BSD-3-Clause | 5f6fbb409158167aeefb5781d6f0b228e24b493cb6e6f1320fb5bc8897acc223
kedro | 1.7.0 | Apache-2.0 | 50b654c0f6ec79c465bc913c1680ea6ad35fff287160262dce7f9d4c1bdbd493
Kivy | 2.3.1 | MIT | 0833949e3502cdb4abcf9c1da4384674045ad7d85644313aa1ee7573f3b4f9d9
lxml | 6.1.3 | BSD-3-Clause | 45222d94ddd511536f3b2f7d9deae3b2339b4ce0f075f1ca25703b07cad9dd21
matplotlib | 3.11.2 | Matplotlib, like PSF-2.0 | cec596316640f2b394b8f0daa0ea61a8eae82d017b620b9f202befb972a59ea4
mercurial | 7.2.4 | GPL-2.0-or-later | 85839e0f39e6cb893a88932aa36ef661759f3c5c5de4551ad26bd9df53cb71a2
mypy | 2.4.1 | MIT | 63b590965691e540a335fa74dadf31a7069142f6b72e234689bbd244edf55623
nikola | 8.3.3 | MIT | 636d7d6ffc2ab24f4c2649e8695f8bb5604e309153ea4b60b786facae03ab1c7
numba | 0.68.1 | BSD-2-Clause | 9de461812470173a14eeb7e0bbd27c897dffe835402a33861166842fc5f6ea57
numpy | 2.5.5 | BSD-3-Clause, parts MIT | 5cddc243c75114ba845f01b1f87aca1572dbf7b6c2d88636ed3e1d2bccd7f1bf
ocrmypdf | 17.13.0 | MPL-2.0, manual CC-BY-SA-4.0 | 151c35d810eb628fbc5cb9bbe80b834ecf094737efa0e7a2e9e1fac3c730ed49
offlineimap | 8.0.3 | GPL-2.0-or-later | f7abf1c8962ed16926c870c91b6b132df3f22650f5aaaf44925d5630e3a08cf6
pip | 26.3 | MIT | 6c36ae7da8695be67e3cd9f7d87919667ced53f57ce2ede75d89b5912ed2bc4c
powerline-status | 2.7 | MIT | 8c7e7da45beb2332bc8226b166b732ef70db2cb0a1f3f0fdc3c539115522ecb6
psycopg2 | 2.9.13 | LGPL-3.0-or-later with exceptions | d36784fc2dae69523ba4b79c7d1d1b4d6e83e87836874f111262f4db940b16a6
pygame | 2.6.1 | LGPL-2.1-or-later | 56fb02ead529cee00d415c3e007f75e0780c655909aaa8e8bf616ee09c9feb1f
pyglet | 2.1.19 | BSD-3-Clause | 77fae024df940c60917ba604bab9b7e26306d66734186634b698c708cdd9f4be
pyinstaller | 6.22.3 | GPL-2.0-or-later with exception | 05eb2f5615503e72939a7224d68b4aff572c6b0438ee4a17d0a4b481f399362d
pylint | 4.1.4 | GPL-2.0-or-later | 4c9176dc6c9f1b98b742195f01899b290369d5a27b4b41d1014c17f2f96b26f1
pyproj | 3.8.0 | MIT | efa59725bba68bf97fa808b61302df32934acdceb6a5c92a8dd0e71dc266a876
pytest | 9.2.0 | MIT | 97c4f3b1f3c7414aa36465e09b8220f1d03627993bd51b1282e193753c80557b
pyzmq | 27.3.0 | BSD-3-Clause | bbedb3d1d99babc625f1dd9d7438acefd442b36b75073fd6bc1ef7c0a4b96d56
rasterio | 1.5.2 | BSD-3-Clause | e65a15b7bd22ce8f8ce8159856669dc9fafabf66cde6156e8f8e71d55abcd515
salt | 3008.5 | Apache-2.0 | 0259deafd601d783721e5aa8ed10677d8c4d6cc12f5de17499af71590d593315
scikit-learn | 1.9.1 | BSD-3-Clause | 629cada3e33e2b9bf376cdc7614a47a4140b8aedc1d836579e359736fbd82977
scipy | 1.18.1 | BSD-3-Clause | 52c4b7422442aba924d03ad4019852b08a92e64ea187b933135687bfe2747307
scrapy | 2.19.0 | BSD-3-Clause | 34130726582b64c91531162ab277c4053e558876d49ba219cb43679e71d80a87
seaborn | 0.13.2 | BSD-3-Clause | 93e60a40988f4d65e9f4885df477e2fdaff6b73a9ded434c1ab356dd57eefff7
setuptools | 84.2.1 | MIT | 3ff8b3b5492a0aa66960f4419365a86b84e013070d4313e4d4a6894f5d64d6bc
shapely | 2.2.0 | BSD-3-Clause, manual CC-BY-3.0 | e8865e553d874a1ec4a032057ea81fca9def37b188cd8fb550af3b3480b3f88c
sphinx | 9.2.0 | BSD-2-Clause | 90470459f3cab15d9dfed146c71cf77694b0445df17b2e0e69059cb9f7fc9ee4
sqlalchemy | 2.1.9 | MIT | d700a8b2edfb26282a470333d6bc4a454c4acda4d201a3bea7b72fa76c217d28
sympy | 1.14.0 | BSD-3-Clause | d3d3fe8df1e5a0b42f0e7bdf50541697dbe7d23746e894990c030e2b05e72517
tables | 3.11.1 | BSD-3-Clause | 78abcf413091bc7c1e4e8c10fbbb438d1ac0b5a87436c5b972c3e8253871b6fb
tmuxp | 1.76.0 | MIT | aedad329c5934e9380eecf43e4a9372f4f87cab640c9695105e1e91c9daec96f
trio | 0.35.0 | MIT OR Apache-2.0 | 7efb295c78a0ecd1235c5759e620b5da564ca80d2efcb0055423588547248b96
twisted | 26.10.0 | MIT | 5f0355403e507fc23ceea85e9dbb4bc59335aabde41dd324e8b8cea180dd38de
urllib3 | 2.8.0 | MIT | 63bf2ead4c879426ebf22ef2a781eeb4aa3b4ae798a0435506f8687fd5bb9b63
uv | 0.13.9 | MIT OR Apache-2.0 | dd6f4f93ddf8a668c73f0945f3638444b2140a4e15a3912067493fc6335543e4
weasyprint | 70.0 | BSD-3-Clause | c263abf0e86c747b12af678b67f85f4abbfb97d18a20503031e7ba94e4b8cf8c
werkzeug | 3.1.9 | BSD-3-Clause | 55ca7c70a75689be937aa27f8ff4b018f06ff4838fc73045560bf0f5a1291060
whoosh | 2.7.4 | BSD-2-Clause | 7ca5633dbfa9e0e0fa400d3151a8a0c4bec53bd2ecedc0a67705b17565c31a83
xarray | 2026.9.0 | Apache-2.0 | 6abc69694c22fa1f0fb2f357ff4e41d88beb4477ed71091f944b7dbf67ed54fe
youtube-dl | 2021.12.17 | Unlicense | bc59e86c5d15d887ac590454511f08ce2c47698d5a82c27bfe27b5d814bbaed2
""".splitlines()
]
