<?php
// A program that uses the PHP client; a test runs it. Prints the result of each step.

use PaymentGateway\Api\ChargesApi;
use PaymentGateway\Api\PaymentsApi;
use PaymentGateway\ApiException;
use PaymentGateway\Configuration;
use PaymentGateway\Model\GopayCharge;

// The generated code is older than PHP 8.1, and causes deprecation warnings.
error_reporting(E_ALL & ~E_DEPRECATED);
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $prefix = 'PaymentGateway\\';
    if (!str_starts_with($class, $prefix)) return;
    $path = str_replace('\\', '/', substr($class, strlen($prefix)));
    require getenv('CLIENT') . "/lib/$path.php";
});

$settings = json_decode(getenv('CONSUMER'), true);
$configuration = (new Configuration())->setHost($settings['url'])->setAccessToken($settings['key']);
$http = new GuzzleHttp\Client();
$charges = new ChargesApi($http, $configuration);
$payments = new PaymentsApi($http, $configuration);
$outcome = [];

// One key, one payment. The amount needs more than 32 bits.
$charge = new GopayCharge(['payment_type' => 'gopay', 'gross_amount' => 3_000_000_000]);
$key = $settings['idempotencyKey'];
$created = [$charges->createCharge($charge, $key), $charges->createCharge($charge, $key)];
$outcome['charge'] = [
    $created[0]->getModelName(),
    $created[0]->getTransactionStatus(),
    $created[0]->getGrossAmount(),
    str_starts_with($created[0]->getQrUrl(), 'http'),
    $created[0]->getId() === $created[1]->getId(),
];

$listed = $payments->listPayments(order_id: $created[0]->getOrderId());
$outcome['list'] = [
    $listed[0]->getModelName(),
    $listed[0]->getId() === $created[0]->getId(),
    count($listed),
];

try {
    $charges->createCharge(new GopayCharge(['payment_type' => 'gopay', 'gross_amount' => -1]));
} catch (ApiException $error) {
    $problem = $error->getResponseObject();
    $outcome['error'] = [$error->getCode(), $problem->getCode(), $problem->getErrors()[0]->getField()];
}

echo json_encode($outcome), "\n";
