import type { WordList } from '../word-table.ts'

/** Trades that speak against noise: a bank is a bank even when "communications" stands beside it. */
export const BUSINESS_WORDS: readonly WordList[] = [
  {
    classification: 'business',
    weight: 8,
    words: `
      credit union, federal credit union, federal savings, savings bank, federal bank, federal reserve bank
      national bank, first national, state bank, federal express, federal mogul, federal home loan
      federal national mortgage, national association, stock exchange, university hospital, university hospitals
      university medical center, university press, college board, school specialty, county bank, city furniture
      government employees insurance
      wire and cable, wire cable, cable manufacturing, cable news, cable assemblies, cable ties, cables y conductores
      mobile homes, mobile mini, mobile home, mobile games, mobile gaming, satellite healthcare, server technology
      salvation army, old navy, media networks, television network, television networks, news network, sports network
      radio network, broadcasting network, health network, healthcare network, hospital network, medical network
      dental network, payment network, payments network, care network, insurance network, network security
      network storage, internet security, cloud security, cyber security, internet brands, internet archive
      telecom design, telecom software, communications equipment, telecom equipment, network equipment
      real estate, law firm, law offices, motor company, motor corporation, oil and gas, medical center
      medical centre, health system, health systems, health plan, health care, public relations, church of
      pension fund, trust company, business school publishing, national railway, public storage
    `,
  },
  {
    classification: 'business',
    weight: 5,
    words: `
      bank, banks, *bank, banka, banca, banco, bancos, banc, bancorp*, bancshares, banque, bankasi, bankas, banken
      bankers, banking, bankgroup, *banken, *banka, bancolombia, sparkasse*, *sparkasse, raiffeisen*, volksbank*
      landesbank, savings, mortgage, insurance, insurances, insurers, assurance*, assicuraz*, asegurador*, seguros
      versicherung*, *versicherung, *versicherungen, verzekering*, forsikring, forsakring*, sigorta*, ubezpiecz*
      pojistovna, biztosito, faktoring, factoring, securities, brokerage, brokers, equity, kreditkasse, банк, *банк
      банка, страхов*, 银行, 銀行, 은행, 保险, 保險, 생명, 証券, 证券, ธนาคาร
      hospital*, hopital*, krankenhaus, krankenhaeuser, klinikum*, *klinikum, klinik*, *klinik, clinic, clinics
      clinica, clinique, ziekenhuis, sykehus, sjukhus, szpital, nemocnice, hastane*, больниц*, 医院, 醫院, 病院, 병원
      pharma*, *pharma, pharmaceutical*, biotech*, therapeutics, medical, healthcare, *healthcare
      attorneys, lawyers, rechtsanwaelte, advokat*, airlines, airways, airline, airport*, aeroport*, aeropuerto*
      flughafen*, aerospace, aviation, automotive, automobile*, automobil*, automotriz, motors, motor, manufactur*
      manufakt*, maschinenbau, maschinen*, semiconductor*, industries, industrie*, industria*, industrial
      *industries, *industrie, chemical*, chemie, chimie, quimica, hotel, hotels, hoteles, casino*, resort*
      restaurant*, supermarket*, supermercado*, museum*, musee, museo, furniture, appliances, textile*, cement*
      cemento*, brewery, brewing, breweries, brauerei, winery, dairy, foods, food, bakery, mining, minera, steel
      metals, metall*, petroleum, petrol*, refinery, refining, *oil
      software, *software, newspaper*, zeitung*, *zeitung, verlag*, *verlag, publishing, publishers, publisher
      publications, advertising, stores, retail*, supermercados, warehouse, railway*, railroad*, railways, eisenbahn
      transit authority, shipping, logistic*, logistik*, *logistik, freight, trucking, construction, constructora
      construtora, bouwbedrijf, contractors, contracting, architects, architekten, shipyard*, cooperative bank
      jewelry, cosmetics, apparel, footwear, fashion, travel, tourism, studios, pictures, baseball, football
      basketball, racing, church, churches, diocese, ministries
    `,
  },
  {
    classification: 'business',
    weight: 4,
    words: `
      group insurance, health, *health, motorsport, broadcasting, broadcaster*, newspapers, news, press, radio
      gazette, journal, television, televisions, televis*, radiotelevis*, teleradiokompan*, video, film, films
      movies, gaming, games, *games, entertainment, electronics, electronic, elektro*, *elektronik, elektronik*
      energy, energie*, *energy, energia*, energetic*, energetik*, enerji, power, electric*, electricity, elektr*
      utilities, stadtwerke*, *stadtwerke, gas, gaz, oil, nuclear, solar, water, wasser*,  asset management, wealth
      trading, trade, traders, exchange, holdings bank, payments, payment, pay, *pay, *shop, shop, shops, shopping
      mart, *mart, store, marketplace, outlet, market, ecommerce, e commerce, estate, properties, property, realty
      immobil*, housing, wohnbau*
      consulting, consult*, consultants, consultancy, beratung*, steuerberat*, accounting, accountants, audit
      engineering, ingenieur*, engineers, engenharia, ingenieria, ingegneria, packaging, plastics, plastic, rubber
      paper, glass, tools, machinery, machine*, equipment, instruments, robotics, medic*, medizin*, dental, optical
      labs, laborator*, laboratories, diagnostics, genomics, biosciences, sports, sport, fitness, theatre, theater
      festival, foundation, fundacion, fundacao, stiftung, fondation, fondazione, charity, society, association
      verband, vereniging, federacion, chamber of commerce, legal, law, notar*, agricultur*, agro*, *agro, farm
      farms, farmers, farming, seeds, timber, lumber, wood, holz*, coffee, tea, wine, sugar, tobacco, toys, *toys
      garments, marketing, *marketing, staffing, recruitment, payroll, security services, wire
    `,
  },
  {
    // Names of subsidiaries, of access providers too: too weak to outweigh a known name.
    classification: 'business',
    weight: 3,
    words: `capital, invest*, *invest, finance, financ*, *finance`,
  },
  {
    classification: 'business',
    weight: 2,
    words: `
      llp, design, designs, security, *soft, soft, *ware, analytics, intelligence, management, partners, ventures
      products, produkte, supply, trust, club, forensics, supplies, resources, holdings inc, lab, company store
      magazine, transport*, spedition, bau, union, brands, corp bank, concrete, foundry
    `,
  },
  {
    classification: 'neutral',
    weight: 0,
    words: `pressure, powered, newsgroup, databank, data bank, lawn, medianews, bauern, presse`,
  },
]
