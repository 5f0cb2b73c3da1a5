ALTER TABLE events
  COMMENT COLUMN ip 'Address of the visitor, canonical text; IPv4-mapped IPv6 is written as IPv4. Of tenants that do not keep addresses, a pseudonym of address and UTC day: #, and 16 hexadecimal digits, behind the network when that is kept',
  COMMENT COLUMN hostname 'Host name of the address; empty for tenants that do not keep addresses';
