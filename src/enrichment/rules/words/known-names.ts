import type { WordList } from '../word-table.ts'

/**
 * Names that say what they are only to those who know them, and names that contain a word of another kind. They decide
 * before all words, the longest first: `t mobile arena` is found before `t mobile`.
 */
export const KNOWN_NAMES: readonly WordList[] = [
  {
    classification: 'business',
    weight: 9,
    words: `
      // Makers of network equipment and software sell networks, they do not run them.
      juniper networks, arista networks, palo alto networks, extreme networks, f5 networks, a10 networks, riverbed
      infoblox, brocade, ruckus, aruba networks, fortinet, cisco, ciena, calix, adtran, ubiquiti, mikrotik, zyxel
      d link, tp link, netgear, netscout, sonicwall, barracuda networks, pulse secure, aerohive, meraki
      cumulus networks, big switch networks, force10 networks, foundry networks, mitel networks, avaya, polycom
      shoretel, genband, ribbon communications, sonus networks, metaswitch, casa systems, harmonic inc, arris
      commscope, corning, prysmian, nexans, belden, general cable, southwire, anixter, amphenol, infinera, lumentum
      coriant, adva optical, viavi, spirent, ixia, keysight, nokia, ericsson, *ericsson, huawei, zte, alcatel lucent
      nortel, siemens networks, fiberhome, opentext, open text, radware, allot communications, check point
      checkpoint software, gigamon, netskope, zscaler, vmware, citrix, nutanix, netapp, pure storage, silver peak
      velocloud, viptela, versa networks, ekinops, teldat, lancom systems, huber suhner, teldor, mavenir, amdocs
      comverse, ceragon, gilat satellite networks, comtech, qualcomm, broadcom, motorola, telefonaktiebolaget
      // Businesses whose names say otherwise.
      t mobile arena, mobileye, mobil oil, exxonmobil, exxon mobil, mobile mini, cable news network, cablelabs
      salesforce, servicenow, cloudera, cloudbees, cloud software group, cloudflight, cloudinary, cloudbeds
      cloudsmith, cloud imperium, mulesoft, workday, snowflake, zoom video communications, zoom communications
      te connectivity, sba communications, iridium catalyst systems, discovery communications, discovery networks
      turner broadcasting, warner bros, harris communications, l3harris, l 3 communications, verisk, versum, webmd
      webex, godiva, hostess brands, internet brands, internet archive, internet society
      internet corporation for assigned names, network rail, nippon television network, fox networks, amc networks
      a e networks, amc network, hallmark cards, netflix, netjets, net a porter, netzsch, netsuite
      netsol technologies, networks associates, social network, twitter, facebook, meta platforms, linkedin, yahoo
      ebay, paypal, uber technologies, airbnb, dropbox, spotify, bloomberg, reuters, thomson reuters, dow jones
      red hat, redhat, suse, canonical group, mozilla, wikimedia, apple inc, netease, naver corp, kakao
      rakuten group, cyberagent, mercadolibre, infosys, wipro, tata consultancy, tech mahindra, cognizant, accenture
      capgemini, atos, cgi group, dxc, epam, globant, euronet worldwide, net one systems, teleperformance, teletech
      teleflex, teledyne, telligent, telsey, telos corporation, tele columbus stiftung, telvent, telus international
      tel instrument, sitel, fiserv, equifax, experian, dun bradstreet, transunion, mitre, sas institute, battelle
      nomura research institute, rand corporation, booz allen hamilton, leidos, saic, caci, mantech, bae systems
      general dynamics, northrop grumman, raytheon, lockheed martin, boeing, thales, rheinmetall, school specialty
      scholastic inc, college entrance, academy sports, academy mortgage, educational testing, university loft
      harvard pilgrim, mayo foundation, mayo clinic, kaiser foundation, cleveland clinic, memorial sloan kettering
      navy federal, federal reserve, federated mutual, federal national mortgage, fannie mae, freddie mac, geico
      citadel securities, state street, state farm, army and air force exchange, army navy, county road
      police and fire, postnl, deutsche post, deutsche bahn, dhl, fedex, united parcel, royal mail, valve corporation
      riot games, activision, electronic arts, epic games, electronic data systems, epic systems, otto gmbh
      colonial pipeline, colt defense, cox automotive, cox media, cox enterprises, bell helicopter, bell flight
      bell textron, taco bell, orange cyberdefense, orange county, orange bowl, ntt data, colt s, buckeye partners
      buckeye pipeline, shaw industries, shaw group, sky chefs, sky regional, sprint car, spectrum brands
      spectrum health, spectrum pharmaceuticals, charter schools, charter oak, charter bank, windstream properties
      frontier airlines, liberty mutual, liberty tax, virgin atlantic, virgin australia airlines, virgin galactic
      virgin america, virgin voyages, optimum nutrition, mts systems, mtn dew, tim hortons, three rivers
      starlink subaru, hughes hubbard, hughes supply, viasystems, iridium catalyst, century aluminum
      crown castle usa headquarters, sap se, sap ag, hewlett packard, lexmark, xerox, dell inc, dell technologies
      dell computer, intel corporation, oracle corporation, ibm, international business machines, nec corporation
      fujitsu, hitachi, toshiba, sony group, sony corporation, sony interactive, samsung electronics, samsung sds
      lg electronics, panasonic, tdk, bosch, siemens, kaspersky, vkontakte, sberbank, gazprom, lukoil, rosneft
      yandex go, mail ru, 1c, priceline, booking com, expedia, trip com, zalando, shopify, etsy, wayfair, chewy
      instacart, doordash, grubhub, lyft, stripe, square inc, adyen, klarna, wise payments, revolut, robinhood
      coinbase, binance, amadeus, sabre, travelport, sita, sita switzerland, visa inc, mastercard, american express
      discover financial, capital one, datev, teamviewer, trend micro, symantec, mcafee, norton, sophos, avast, eset
      f secure, bitdefender, malwarebytes, crowdstrike, fireeye, mandiant, tanium, rapid7, qualys, splunk, datadog
      new relic, dynatrace, twilio, sendgrid, mailchimp, mailgun, hubspot, zendesk, atlassian, box inc, docusign
      adobe, autodesk, intuit, ansys, synopsys, cadence design, dassault systemes, ptc inc, garmin, gopro, fitbit
      roku, sonos, tivo, nielsen, comscore, gartner, forrester, planet labs, maxar, spacex headquarters, tesla
      rivian, axel springer, bertelsmann, volkswagen, bmw, daimler, mercedes benz, red bull, nestec, nestle, l oreal
      renault, peugeot, michelin, total energies, totalenergies
    `,
  },
  {
    classification: 'isp',
    weight: 9,
    words: `
      // North America
      nex tech, lightcurve, skybeam, novus entertainment, vmedia, inteliquent, penteledata, aureon
      arvig, nuvera, comporium, zito media, blue stream, pavlov media, webpass, xmission, socket holdings, gonetspeed
      everstream, uniti, segra, lumos, ftc communications, hbc, jackson energy authority, wyyerd, tachus
      greenlight networks
      orange espagne, orange business, orange tunisie, orange burkina, orange moldova, orange cameroun, orange mali
      orange madagascar, orange france, orange communication, orange personal communications, orange money
      ntt america, ntt com, ntt me, ntt east, ntt west, ntt global, ntt business, ntt smartconnect, jcom, powercomm
      lg powercomm, liberty global, colt, hutch, andrews arnold
      comcast, comcast*, charter communications, spectrum internet, cox communications, verizon*, uunet, at t
      at and t, attis, sbc internet, bellsouth, centurylink, centurytel, qwest, lumen technologies, lumen, level 3
      level3, frontier communications, windstream, altice usa, cablevision systems, optimum online, suddenlink
      mediacom, cable one, cableone, sparklight, rcn, astound, wideopenwest, wow internet, grande communications
      wave broadband, consolidated communications, fairpoint, tds telecom, ziply, earthlink, us cellular, t mobile
      sprint personal, sprintlink, metropcs, cricket wireless, tracfone, hughesnet, hughes network systems, viasat
      starlink, space exploration technologies, google fiber, sonic net, gci communication, hawaiian telcom, hargray
      metronet, allo communications, midcontinent, midco, armstrong cable, buckeye cablevision, buckeye broadband
      service electric, atlantic broadband, breezeline, ting internet, cincinnati bell, altafiber, zayo, cogent
      cogentco, hurricane electric, gtt communications, crown castle fiber, lightpath, lightower, xo communications
      megapath, birch communications, bell canada, bell aliant, bell mobility, bell mts, rogers communications
      rogers cable, rogers wireless, shaw communications, shaw cable, shaw telecom, telus, videotron, cogeco
      eastlink, sasktel, teksavvy, xplornet, xplore, fido solutions, beanfield, distributel, jab wireless, starry inc
      tzulo isp, nextlink, rise broadband
      // Latin America
      supercanal, media commerce, mundo pacifico, ifx corporation, internexa, alestra, operbes, conecel, cirion
      telconet
      telmex, uninet sa, megacable, mega cable, totalplay, izzi, axtel, telcel, america movil, embratel, claro
      claro sa, vivo sa, telefonica brasil, tim sa, tim celular, oi sa, oi movel, brasil telecom
      global village telecom, algar, brisanet, desktop sigmanet, unifique, copel telecomunicacoes, sercomtel
      telecentro, telecom argentina, cablevision sa, entel, vtr, wom sa, tigo, une epm, etb, cantv, inter cable
      digicel, liberty latin america, liberty communications, altice dominicana, codetel, tricom, cabletica, kolbi
      millicom, antel
      // Europe
      pine media, intred, sileman, lounea, interzet, fregat, retelit, unidata spa, sky italia, iliad, vianova spa
      digiweb, exponential e, trooli, ask4, vorboss, celeste sas, wifirst, keyyo, linkt sas, adista, quantcom, poda as
      invitech, one hungary, tarr kft, cooolbox, ljosleidarinn, mila hf, melita, go plc, westcall, obit ltd
      central telegraph
      deutsche telekom, t ipconnect, telekom deutschland, vodafone*, kabel deutschland, unitymedia, telefonica*
      o2 germany, o2 czech, 1 1 versatel, versatel, netcologne, ewe tel, m net telekommunikation, m net, wilhelm tel
      htp gmbh, tele columbus, pyur, deutsche glasfaser, freenet, qsc ag, british telecommunications
      bt public internet, bt plc, sky uk, sky broadband, virgin media, talktalk, plusnet, ee limited, hutchison 3g
      three uk, hutchison drei, kcom, zen internet, hyperoptic, community fibre, gigaclear, eircom, eir broadband
      sky ireland, virgin media ireland, magnet networks, orange sa, orange polska, orange espana, orange romania
      orange slovensko, orange belgium, france telecom, wanadoo, free sas, free mobile, proxad, bouygues, sfr
      numericable, completel, iliad italia, zeop, outremer, telenet, proximus, belgacom, voo sa, scarlet belgium, kpn
      ziggo, odido, xs4all, delta fiber, caiw, caiway, solcon, freedom internet, post luxembourg
      entreprise des postes et telecommunications, luxembourg online, swisscom, sunrise, upc*, salt mobile, init7
      quickline, a1 telekom, a1 bulgaria, a1 slovenija, a1 hrvatska, magenta telekom, liwest, kabelplus
      telecom italia, tim italia, fastweb, wind tre, infostrada, tiscali, eolo spa, linkem, bt italia, euskaltel
      jazz telecom, jazztel, masmovil, xfera, digi spain, digi romania, rcs rds, avatel, adamo, r cable, vodafone ono
      nos comunicacoes, meo, nowo, pt comunicacoes, netia, vectra sa, multimedia polska, toya, inea, play p4, p4 sp
      polkomtel, t mobile polska, aster city, cetin, nej cz, slovanet, swan as, magyar telekom, invitel
      digi tavkozlesi, vivacom, bulsatcom, mobiltel, ote sa, cosmote, forthnet, cyta, cyprus telecommunications
      turk telekom, ttnet, turkcell, superonline, turknet, turksat, millenicom, hrvatski telekom, iskon, telemach
      t 2 doo, telekom slovenije, sbb, serbia broadband, telekom srbija, mtel, albtelecom, telia*, telenor, tele2
      com hem, bredband2, bahnhof, ownit, tre sweden, hi3g, altibox, lyse, nextgentel, get as, broadnet, tdc*, yousee
      stofa, fibia, hiper as, norlys, elisa oyj, elisa eesti, elisa corporation, dna oyj, dna plc, finnet, lattelekom
      lattelecom, sia tet, bite lietuva, baltcom, starman, cgates, rostelecom, er telecom, mts pjsc, pjsc mts
      megafon, vimpelcom, beeline, tele2 russia, mgts, ufanet, sibirskie seti, transtelecom, ttk, akado, net by net
      kyivstar, ukrtelecom, volia, lifecell, triolan, datagroup, lanet, kyivski telekomunikatsiyni merezhi
      moldtelecom, starnet, beltelecom, kazakhtelecom, kcell, silknet, magticom, caucasus online, ucom, baktelecom
      baktelekom, delta telecom, arelion, twelve99, colt technology, euNetworks, retn, interoute
      telecom liechtenstein
      // Asia and the Pacific
      chinanet*, china telecom, china unicom, china mobile, china169*, china tietong, cncgroup, cernet access
      chinacache isp, guangdong mobile, cmnet*, great wall broadband, dr peng, hkt limited, netvigator, pccw
      hong kong broadband, hgc global, hutchison telecom, smartone, i cable, chunghwa, hinet, taiwan mobile
      far eastone, far eastern telecom, seednet, taiwan fixed network, kbro, ntt docomo, ntt communications, ocn ntt
      kddi, softbank, so net, biglobe, nifty corporation, jupiter telecommunications, j com, asahi net
      ucom corporation, iij, internet initiative japan, k opticom, optage, ctc chubu, qtnet, stnet
      energia communications, rakuten mobile, korea telecom, kt corporation, kornet, sk broadband, sk telecom
      lg uplus, lg dacom, lg powercom, lg hellovision, dlive, tbroad, viettel, vnpt, fpt telecom, mobifone
      cmc telecom, true internet, true move, ais fibre, advanced info service, advanced wireless network, tot public
      cat telecom, triple t, 3bb, jasmine international, telekomunikasi indonesia, telkomsel, telekomunikasi selular
      indosat, xl axiata, biznet, first media, link net, mnc play, tm net, tm technology services, telekom malaysia
      maxis, celcom, digi telecommunications, u mobile, time dotcom, unifi, singtel, starhub, m1 limited, m1 net
      myrepublic, viewqwest, pldt, philippine long distance, globe telecom, converge ict, sky broadband philippines
      smart broadband, smart communications, bharti airtel, airtel, reliance jio, jio, vodafone idea, bsnl
      bharat sanchar, mtnl, tata teleservices, tata communications, hathway, act fibernet, actfibernet
      atria convergence, excitel, you broadband, tikona, den networks, gtpl, railtel, spectranet, dialog axiata
      sri lanka telecom, slt, grameenphone, gp grameenphone, banglalink, robi axiata, nepal telecom, worldlink, ncell
      nayatel, ptcl, pakistan telecommunication company, mobilink, zong, transworld associates, telenor pakistan
      wateen, roshan, etisalat, emirates telecommunications, emirates integrated telecommunications, du telecom
      saudi telecom, stc, mobily, etihad etisalat, zain, ooredoo, vodafone qatar, batelco, viva bahrain, omantel
      kalaam, bezeq, bezeq international, partner communications, 012 smile, hot net, hot mobile, cellcom, pelephone
      013 netvision, orange jordan, jordan telecom, iran telecommunication, irancell, mci iran, shatel, asiatech
      earthlink iraq, telstra, tpg internet, tpg telecom, optus, singtel optus, iinet, internode, aussie broadband
      vocus, exetel, superloop, dodo services, spark new zealand, vodafone new zealand, one new zealand, 2degrees
      orcon, vodafone fiji
      // Africa
      dandemutande, seacom, scancom, rain group, rsaweb, gva cote, qcell, olleh rwanda, mic tanzania, zimbabwe online
      telkom sa, mtn, vodacom, cell c, rain networks, afrihost, mweb, cool ideas, web africa, internet solutions pty
      safaricom, jamii telecommunications, zuku, wananchi, airtel africa, liquid telecom, liquid intelligent
      mtn nigeria, glo mobile, globacom, spectranet nigeria, smile communications, maroc telecom, itissalat*, inwi
      wana corporate, orange maroc, tunisie telecom, topnet, ooredoo tunisie, telecom algeria, algerie telecom
      telecom egypt, te data, link egypt, vodafone egypt, etisalat misr, noor data, ethio telecom, econet, telone
      unitel, angola cables, sonatel, orange cote
    `,
  },
  {
    classification: 'hosting',
    weight: 9,
    words: `
      mythic beasts, node4, webgo, webtropia, fast it gmbh, manitu, antagonist, netsons, lh pl, coolhousing, isimtescil
      esds software, milesweb, vodien, handy networks, ramnode, krypt, nexeon, datapipe, navisite, carpathia, codero
      hostmysite, ntirety, hostway, layeredtech, cologix, telehouse, interxion, telecity, global switch, digiplex
      evoswitch, i3d, i3d net, nedzone, snel com, novoserve, thcservers, terrahost, keyweb, velia, syseleven
      noris network
      domainfactory, united domains, checkdomain, alfahosting, artfiles, uberspace, goneo, profihost, centron, shellrent
      keliweb, cdmon, nominalia, hostalia, sered, 123 reg, lcn com, nublue, privatelayer, private layer, global layer
      unitedlayer, unitedcolo, advancedhosters, aptum, internap, inap, packethub, netactuate, quickpacket, deft com
      expedient, lightedge, ensono, peak 10, involta, us signal, 365 data centers, netrality, stack infrastructure
      vantage data, bulk infrastructure, green mountain, digital edge, nextdc, airtrunk, macquarie technology, binero
      cleura, dogado, northc, previder, interconnect services, proserve, uniserver, scalaxy, scaleup, artplanet, webzen
      axilaris, zettagrid, intervolve, rimuhosting, sitehost, umbrellar, web werks, netmagic, ctrls, nxtra, yotta
      aqua ray, octopuce, oxeva, magic online, nfrance, jaguar network, sewan, ecritel, claranet, euclyde, fullsave
      hetzner, ovh*, leaseweb, contabo, ionos, 1 1 internet, strato ag, strato gmbh, netcup, myloc, host europe
      hosteurope, all inkl, neue medien muennich, mittwald, combahton, plusserver, world4you, anexia, easyname
      infomaniak, hostpoint, cyon, metanet, gandi, online sas, dedibox, ikoula, o2switch, planethoster, lws, transip
      worldstream, serverius, nforce, true bv, combell, aruba spa, seeweb, register it, dinahosting, arsys, acens
      ptisp, almouroltec, home pl, nazwa pl, h88, cyber folks, cyberfolks, wedos, websupport, forpsi, active24
      loopia, one com, glesys, blix solutions, simply com, hostinger, interneto vizija, veesp, selectel, timeweb
      reg ru, beget, firstvds, jino, masterhost, hostpro, m247, voxility, neterra, lancom data, netinternet, radore
      natro, turhost, godaddy, go daddy, secureserver, bluehost, unified layer, endurance international
      newfold digital, dreamhost, new dream network, liquid web, nexcess, inmotion, a2 hosting, siteground
      hivelocity, quadranet, psychz, colocrossing, racknerd, frantech, buyvm, ponynet, choopa, vultr
      constant company, sharktech, rackspace, databank, equinix, cyxtera, flexential, tierpoint, switch ltd
      interserver, joe s datacenter, wholesale internet, namecheap, hostwinds, enzu, iweb, memset, redstation
      fasthosts, krystal, iomart, uk2, ukfast, heart internet, tsohost, pulsant, digital realty, cyrusone, coresite
      qts data, steadfast, servermania, b2 net solutions, serverstack, egihosting, nocix, datashack, reliablesite
      tzulo, phoenixnap, secured servers, packet host, incero, limestone networks, softlayer, the planet, singlehop
      peer 1, cogeco peer 1, web com, squarespace, wix com, weebly, automattic, wpengine, pantheon systems, netlify
      vercel, heroku, fly io, render services, sakura internet, gmo internet, xserver, kagoya, exabytes, shinjiru
      ip serverone, azdigi, vinahost, digital pacific, ventraip, crucial cloud, micron21, servers australia, net24
      xneelo, locaweb, hostdime, uol diveo, dattatec, donweb, ip volume, datacamp limited hosting, ovhcloud
      m5 computer security, colo4, latitude sh, gigenet, turnkey internet, zenlayer, gthost, cdn77 hosting, clouvider
      webzilla, servers com, edis gmbh, ghostnet, first colo, firstcolo, accelerated it, servinga, alwyzon, aeza
      pq hosting, stark industries, hostkey, itldc, alexhost, mivocloud, altushost, blazingfast, dataline, dataforest
      active servers, avoro, nordvpn, tefincom, expressvpn, private internet access, mullvad, protonvpn, ipvanish
      surfshark, windscribe, torservers, m247 europe
    `,
  },
  {
    classification: 'cloud',
    weight: 9,
    words: `
      amazon com, amazon web services, amazon data services, amazon technologies, amazonaws, aws, google llc
      google inc, google cloud, google cloud platform, google, microsoft azure, microsoft corporation, azure
      oracle cloud, oracle public cloud, oracle bmc, ibm cloud, alibaba, alibaba us technology, aliyun, tencent
      huawei cloud, huawei clouds, baidu cloud, kingsoft, ucloud, digitalocean, digital ocean, linode
      akamai connected cloud, scaleway, upcloud, exoscale, akenes, kamatera, outscale, clever cloud, gridscale
      open telekom cloud, cloudsigma, elastx, civo, e2e networks, naver cloud, nhn cloud, kt cloud, yandex cloud
      sbercloud, cloud ru, magalu, rackspace cloud, crusoe, coreweave, lambda labs, runpod, virtustream, skytap
      joyent, profitbricks, fuga cloud, jelastic, gigas
    `,
  },
  {
    classification: 'cdn',
    weight: 9,
    words: `
      cloudflare*, akamai*, fastly, edgecast, edgio, limelight networks, llnw, llnwd, stackpath, highwinds, maxcdn
      netdna, cachefly, cachenetworks, incapsula, imperva incapsula, imperva, sucuri, cdn77, datacamp, bunnyway
      bunnycdn, bunny net, g core, gcore, keycdn, proinity, medianova, ngenix, cdnvideo, cdnetworks, wangsu
      chinanetcenter, quantil, chinacache, baishan, baishancloud, j stream, vnetwork, vncdn, arvan, gocache, yottaa
      instart logic, section io, azion, belugacdn, cdnsun, qrator, ddos guard, stormwall, myra security, link11
      leaseweb cdn, netflix open connect, cachenode
    `,
  },
  {
    classification: 'education',
    weight: 9,
    words: `
      internet2, advanced internet development, janet, jisc, jisc services, geant, dfn, deutsches forschungsnetz
      belwue, lrz, renater, belnet, surfnet, surf bv, garr, rediris, red es, csuc, cesca, fccn, pionier, nask, cesnet
      sanet, kifu, hungarnet, arnes, carnet, roedunet, arniec, bren, grnet, ulaknet, ulakbim, aconet, switch peering
      eth zuerich, eth zurich, epfl, sunet, uninett, sikt, forskningsnettet, funet, csc tieteen, eenet, litnet
      sigmanet latvia, heanet, restena, uran ua, urania, iucc, machba, runnet, relarn, cern, kit edu, caltech
      mit lincoln, esnet, cenic, merit network, nysernet, mcnc, oarnet, njedge, kanren, onenet, utah education
      gpn great plains network, lonestar education, flrnet, canarie, bcnet, orion ontario, risq, cybera, cernet
      tanet, sinet, wide project, kreonet, koren, kisti, nknn, nkn, ernet india, singaren, thairen, uninet thailand
      myren, vinaren, pregi net, preginet, aarnet, reannz, tenet south africa, sanren, kenet, ubuntunet, eun egypt
      rnp, rede nacional de ensino, reuna, innova red, renata, cudi, raap, cedia, kacst, kaust, qatar foundation
      maeen, ankabut, technion, imperial college, fraunhofer, max planck, helmholtz, leibniz, inria, cnrs, cnr italy
      csic, infn, smithsonian, cyfronet, brookhaven national, scinet
    `,
  },
  {
    classification: 'government',
    weight: 9,
    words: `
      dod network information center, dod, disa, usaisc, headquarters usaisc, navy network information center
      air force systems networking, nasa, national aeronautics, national oceanic, environmental protection agency
      tennessee valley authority, library of congress, usps, usda, noaa, usgs, nist, national institute of standards
      national institutes of health, centers for disease control, fermi national, los alamos, lawrence livermore
      sandia, argonne, oak ridge, idaho national laboratory, uk parliament, hm revenue, ministry of defence, serpro
      dataprev, prodesp, prodemge, celepar, bundesnetz, itzbund, informationstechnikzentrum bund, dataport
      kommunales rechenzentrum, krz, citeq, regio it, it nrw, telekommunikationszentrale bund, bundesrechenzentrum
      brz gmbh, fedict, smals, fod financien, logius, rijkswaterstaat, ssc ict, sogei, csi piemonte, lepida, red sara
      european commission, european parliament, council of europe, nato, united nations, world bank
      world health organization, state information technology agency, sita soc, national informatics centre, nic in
      gov ca, shared services canada, services australia, telecommunications bureau
    `,
  },
]
