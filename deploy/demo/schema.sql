-- SPDX-License-Identifier: Apache-2.0
-- What `make run` loads into its private MariaDB once.
CREATE DATABASE IF NOT EXISTS app CHARACTER SET utf8mb4;
CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'apppass';
GRANT ALL ON app.* TO app@'%';
USE app;
CREATE TABLE IF NOT EXISTS visits (id INT PRIMARY KEY, n BIGINT NOT NULL);
INSERT IGNORE INTO visits VALUES (1, 0);
CREATE TABLE IF NOT EXISTS orders (
  order_id INT PRIMARY KEY AUTO_INCREMENT,
  order_no VARCHAR(20) NOT NULL UNIQUE,
  customer VARCHAR(80) NOT NULL,
  status ENUM('new', 'paid', 'sent') NOT NULL DEFAULT 'new',
  total DECIMAL(10, 2) NOT NULL
);
INSERT IGNORE INTO orders (order_no, customer, status, total) VALUES
  ('NO00000001', 'Ada', 'sent', 129.00), ('NO00000002', 'Boris', 'paid', 18.50),
  ('NO00000003', 'Chiara', 'paid', 77.25), ('NO00000004', 'Dmitri', 'new', 240.00),
  ('NO00000005', 'Efua', 'new', 9.99), ('NO00000006', 'Farid', 'sent', 310.40),
  ('NO00000007', 'Greta', 'paid', 54.00), ('NO00000008', 'Hana', 'new', 12.00);
